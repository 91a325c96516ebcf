package workspace

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// deliverHTTP posts a payload to the app's request URL, signed as Slack signs.
// The mutex is held; the request runs beside it.
func (s *Server) deliverHTTP(e *envelope) {
	e.seq = s.sent.add(sentRecord{At: s.now(), ID: e.id, Type: e.typ, Kind: e.kind, Attempt: e.attempt})
	s.pending[e.id] = e
	if s.stop.Err() != nil {
		return
	}
	s.wg.Add(1)
	go func() {
		defer s.wg.Done()
		body, ok, again := s.postOut(e)
		s.mu.Lock()
		defer s.mu.Unlock()
		if ok {
			s.acknowledge(e.id, body)
			return
		}
		delete(s.pending, e.id)
		if e.typ != "events_api" {
			e.result <- ackResult{err: "dispatch_failed"}
			return
		}
		if !again || e.attempt >= len(s.opt.Timing.Retries) || s.stop.Err() != nil {
			return
		}
		next := &envelope{id: randomUUID(), typ: e.typ, kind: e.kind, payload: e.payload, attempt: e.attempt + 1, sentAt: e.sentAt, began: time.Now(), result: e.result}
		time.AfterFunc(s.opt.Timing.Retries[e.attempt], func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.deliverHTTP(next)
		})
	}()
}

// postOut sends one request: events as JSON, all else as a form.
func (s *Server) postOut(e *envelope) (answer json.RawMessage, ok, again bool) {
	ctx, cancel := context.WithTimeout(s.stop, s.opt.Timing.Ack)
	defer cancel()
	body, kind := []byte(e.payload), "application/json"
	if e.typ != "events_api" {
		body, kind = []byte(formBody(e)), "application/x-www-form-urlencoded"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.app.RequestURL, bytes.NewReader(body))
	if err != nil {
		return nil, false, false
	}
	at := strconv.FormatInt(s.now().Unix(), 10)
	req.Header.Set("Content-Type", kind)
	req.Header.Set("X-Slack-Request-Timestamp", at)
	req.Header.Set("X-Slack-Signature", sign(s.app.SigningSecret, at, body))
	if e.attempt > 0 {
		req.Header.Set("X-Slack-Retry-Num", strconv.Itoa(e.attempt))
		req.Header.Set("X-Slack-Retry-Reason", "http_timeout")
	}
	resp, err := http.DefaultClient.Do(req) // bounded by ctx
	if err != nil {
		return nil, false, true
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end or not needed
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	again = resp.Header.Get("X-Slack-No-Retry") != "1"
	if err != nil || resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, false, again
	}
	if raw = bytes.TrimSpace(raw); len(raw) > 0 && !json.Valid(raw) {
		raw, _ = json.Marshal(obj{"text": string(raw)}) //nolint:errcheck // strings encode
	}
	return raw, true, again
}

func formBody(e *envelope) string {
	form := url.Values{}
	if e.typ == "interactive" {
		form.Set("payload", string(e.payload))
		return form.Encode()
	}
	var fields obj
	if err := json.Unmarshal(e.payload, &fields); err == nil {
		for k, v := range fields {
			form.Set(k, fmt.Sprint(v))
		}
	}
	return form.Encode()
}

func sign(secret, at string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "v0:%s:%s", at, body)
	return "v0=" + hex.EncodeToString(mac.Sum(nil))
}

// VerifyURL sends the url_verification request that Slack sends when a request
// URL is entered, and says whether the app gave the challenge back.
func (s *Server) VerifyURL(ctx context.Context) error {
	challenge := randomWord(40)
	body, err := json.Marshal(obj{"type": "url_verification", "token": "local-verification-token", "challenge": challenge})
	if err != nil {
		return fmt.Errorf("encode url_verification: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, s.opt.Timing.Ack)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.app.RequestURL, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("verify %s: %w", s.app.RequestURL, err)
	}
	at := strconv.FormatInt(s.now().Unix(), 10)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Slack-Request-Timestamp", at)
	req.Header.Set("X-Slack-Signature", sign(s.app.SigningSecret, at, body))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("verify %s: %w", s.app.RequestURL, err)
	}
	defer resp.Body.Close() //nolint:errcheck // short
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	if err != nil {
		return fmt.Errorf("verify %s: %w", s.app.RequestURL, err)
	}
	if resp.StatusCode != http.StatusOK || !bytes.Contains(raw, []byte(challenge)) {
		return fmt.Errorf("verify %s: status %d without the challenge", s.app.RequestURL, resp.StatusCode)
	}
	return nil
}
