// Package pki makes the certificates of a lab cluster.
//
// The authorities are kept with the cluster, so that kubeconfigs and service
// account tokens stay valid over restarts; all other certificates are made anew
// at each start.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// Authority is a certificate authority whose files lie in one folder.
type Authority struct {
	dir  string
	name string
	cert *x509.Certificate
	key  crypto.Signer
}

// Open reads the authority NAME.crt and NAME.key in dir, or makes it.
func Open(dir, name string) (*Authority, error) {
	a := &Authority{dir: dir, name: name}
	pem, err := os.ReadFile(a.CertFile())
	if errors.Is(err, fs.ErrNotExist) {
		return a, a.create()
	}
	if err != nil {
		return nil, fmt.Errorf("authority %s: %w", name, err)
	}
	certs, err := cert.ParseCertsPEM(pem)
	if err != nil {
		return nil, fmt.Errorf("authority %s: %w", a.CertFile(), err)
	}
	key, err := keyutil.PrivateKeyFromFile(a.keyFile())
	if err != nil {
		return nil, fmt.Errorf("authority %s: %w", a.keyFile(), err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("authority %s: the key cannot sign", a.keyFile())
	}
	a.cert, a.key = certs[0], signer
	return a, nil
}

// CertFile is the path of the authority's certificate.
func (a *Authority) CertFile() string { return filepath.Join(a.dir, a.name+".crt") }
func (a *Authority) keyFile() string  { return filepath.Join(a.dir, a.name+".key") }

func (a *Authority) create() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("authority %s: %w", a.name, err)
	}
	c, err := cert.NewSelfSignedCACert(cert.Config{CommonName: a.name}, key)
	if err != nil {
		return fmt.Errorf("authority %s: %w", a.name, err)
	}
	a.cert, a.key = c, key
	if err := writeKey(a.keyFile(), key); err != nil {
		return err
	}
	return cert.WriteCert(a.CertFile(), encode(c.Raw))
}

// Leaf describes a certificate to issue. With Hosts it serves, without it is a client's.
type Leaf struct {
	CommonName   string
	Organization []string
	Hosts        []string
}

// Pair is a certificate with its key, as files.
type Pair struct{ Cert, Key string }

// Issue writes NAME.crt and NAME.key and returns their paths.
func (a *Authority) Issue(name string, leaf Leaf) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("certificate %s: %w", name, err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return Pair{}, fmt.Errorf("certificate %s: %w", name, err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: leaf.CommonName, Organization: leaf.Organization},
		// A clock set back a little must not make a new certificate invalid.
		NotBefore:   time.Now().Add(-time.Hour),
		NotAfter:    time.Now().AddDate(1, 0, 0),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	for _, h := range leaf.Hosts {
		if ip := net.ParseIP(h); ip != nil {
			tmpl.IPAddresses = append(tmpl.IPAddresses, ip)
			continue
		}
		tmpl.DNSNames = append(tmpl.DNSNames, h)
	}
	if len(leaf.Hosts) > 0 {
		tmpl.ExtKeyUsage = append(tmpl.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, a.cert, key.Public(), a.key)
	if err != nil {
		return Pair{}, fmt.Errorf("certificate %s: %w", name, err)
	}
	p := Pair{filepath.Join(a.dir, name+".crt"), filepath.Join(a.dir, name+".key")}
	if err := writeKey(p.Key, key); err != nil {
		return Pair{}, err
	}
	return p, cert.WriteCert(p.Cert, encode(der))
}

// SigningKey makes, once, the key pair that signs service account tokens.
func SigningKey(dir string) (Pair, error) {
	p := Pair{Cert: filepath.Join(dir, "sa.pub"), Key: filepath.Join(dir, "sa.key")}
	if _, err := os.Stat(p.Cert); err == nil {
		return p, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("service account key: %w", err)
	}
	if err := writeKey(p.Key, key); err != nil {
		return Pair{}, err
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return Pair{}, fmt.Errorf("service account key: %w", err)
	}
	return p, os.WriteFile(p.Cert, encodeAs("PUBLIC KEY", der), 0o600)
}
