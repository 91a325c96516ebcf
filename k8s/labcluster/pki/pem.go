package pki

import (
	"crypto/ecdsa"
	"encoding/pem"
	"fmt"

	"k8s.io/client-go/util/keyutil"
)

func encode(der []byte) []byte { return encodeAs("CERTIFICATE", der) }

func encodeAs(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func writeKey(path string, key *ecdsa.PrivateKey) error {
	data, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return fmt.Errorf("key %s: %w", path, err)
	}
	return keyutil.WriteKey(path, data)
}
