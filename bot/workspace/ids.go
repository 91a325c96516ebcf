package workspace

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const upperAlnum = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

var tsForm = regexp.MustCompile(`^\d{1,10}\.\d{6}$`)

// madeID turns a name into an id that stays the same after a restart, so that
// a saved history still points at its people.
func madeID(prefix, name string) string {
	var b strings.Builder
	for _, r := range strings.ToUpper(name) {
		if strings.ContainsRune(upperAlnum, r) {
			b.WriteRune(r)
		}
	}
	word := b.String()
	if len(word) > 7 || len(word) < 2 {
		word = fmt.Sprintf("%.2s%05X", word, crc32.ChecksumIEEE([]byte(name))&0xfffff)
	}
	id := prefix + "0" + word
	for len(id) < 9 {
		id += "0"
	}
	return id + "1"
}

func randomFrom(alphabet string, n int) string {
	raw := make([]byte, n)
	rand.Read(raw) //nolint:errcheck // documented never to fail
	for i := range raw {
		raw[i] = alphabet[int(raw[i])%len(alphabet)]
	}
	return string(raw)
}

func randomID(prefix string) string { return prefix + "0" + randomFrom(upperAlnum, 9) }

func randomWord(n int) string {
	return randomFrom("abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789", n)
}

func randomHex(n int) string {
	raw := make([]byte, (n+1)/2)
	rand.Read(raw) //nolint:errcheck // documented never to fail
	return hex.EncodeToString(raw)[:n]
}

func randomUUID() string {
	h := randomHex(32)
	return h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-a" + h[17:20] + "-" + h[20:]
}

// stamp writes an instant in microseconds as Slack's ts.
func stamp(micros int64) string {
	return fmt.Sprintf("%d.%06d", micros/1e6, micros%1e6)
}

// parseStamp reads a ts, or a bound such as "0" or "1796000000", into microseconds.
func parseStamp(ts string) (int64, bool) {
	sec, frac, _ := strings.Cut(ts, ".")
	s, err := strconv.ParseInt(sec, 10, 64)
	if err != nil || s < 0 || s > 1e11 || len(frac) > 6 {
		return 0, false
	}
	for len(frac) < 6 {
		frac += "0"
	}
	f, err := strconv.ParseInt(frac, 10, 64)
	if err != nil || f < 0 {
		return 0, false
	}
	return s*1e6 + f, true
}

// after compares two ts as numbers: as text, "9.…" would follow "10.…".
func after(a, b string) bool {
	x, _ := parseStamp(a)
	y, _ := parseStamp(b)
	return x > y
}

func stampOf(at time.Time) string { return stamp(at.UnixMicro()) }
