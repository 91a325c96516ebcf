package workspace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
)

const bodyLimit = 4 << 20

// arguments are a call's values: strings from a form, any JSON from a JSON body.
type arguments map[string]any

func decodeJSON(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber() // large integers in metadata must come back digit for digit
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return nil
}

// readArguments takes query, form, multipart and JSON bodies as Slack does.
// The token comes back apart; inHeader says how it was sent.
func readArguments(r *http.Request) (a arguments, token string, inHeader bool, code string) {
	a = arguments{}
	for k, v := range r.URL.Query() {
		a[k] = v[0]
	}
	delete(a, "token") // newer apps may not send it in the query
	if r.Method == http.MethodPost {
		if code := a.readBody(r); code != "" {
			return a, "", false, code
		}
	}
	if t, ok := a["token"].(string); ok {
		token = t
	}
	delete(a, "token")
	if t, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		token, inHeader = strings.TrimSpace(t), true
	}
	return a, token, inHeader, ""
}

func (a arguments) readBody(r *http.Request) string {
	body, err := io.ReadAll(io.LimitReader(r.Body, bodyLimit+1))
	if err != nil || len(body) > bodyLimit {
		return "request_timeout"
	}
	if len(body) == 0 {
		return ""
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case r.Header.Get("Content-Type") == "":
		return "missing_post_type"
	case err != nil:
		return "invalid_post_type"
	case kind == "application/json":
		var o obj
		if decodeJSON(body, &o) != nil {
			return "invalid_json"
		}
		for k, v := range o {
			a[k] = v
		}
		return ""
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	switch kind {
	case "application/x-www-form-urlencoded":
		err = r.ParseForm()
	case "multipart/form-data":
		err = r.ParseMultipartForm(bodyLimit)
	default:
		return "invalid_post_type"
	}
	if err != nil {
		return "invalid_form_data"
	}
	for k, v := range r.PostForm {
		a[k] = v[0]
	}
	if r.MultipartForm != nil {
		for k, v := range r.MultipartForm.Value {
			a[k] = v[0]
		}
	}
	return ""
}

func (a arguments) has(name string) bool {
	v, ok := a[name]
	return ok && v != nil && v != ""
}

func (a arguments) str(name string) string {
	switch v := a[name].(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

func (a arguments) boolean(name string) bool {
	switch a.str(name) {
	case "true", "1":
		return true
	}
	return false
}

// limit reads a page size; zero or absent gives the default.
func (a arguments) limit(fallback, most int) (int, *apiError) {
	if !a.has("limit") || a.str("limit") == "0" {
		return fallback, nil
	}
	n, err := strconv.Atoi(a.str("limit"))
	if err != nil || n < 1 {
		return 0, failed("invalid_limit")
	}
	return min(n, most), nil
}

// value decodes an argument that is JSON, whether it came as text in a form or
// as it is in a JSON body. Absent gives nil.
func (a arguments) value(name string) (any, error) {
	text, ok := a[name].(string)
	if !ok {
		return a[name], nil
	}
	if text == "" {
		return nil, nil
	}
	var v any
	if err := decodeJSON([]byte(text), &v); err != nil {
		return nil, fmt.Errorf("argument %s: %w", name, err)
	}
	return v, nil
}

// list splits a comma list, or takes a JSON list.
func (a arguments) list(name string) []string {
	var out []string
	if l, ok := a[name].([]any); ok {
		for _, v := range l {
			out = append(out, fmt.Sprint(v))
		}
		return out
	}
	for _, part := range strings.Split(a.str(name), ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// shown is the arguments for the call log: JSON decoded.
func (a arguments) shown() obj {
	out := obj{}
	for k, v := range a {
		if text, ok := v.(string); ok && len(text) > 1 && (text[0] == '{' || text[0] == '[') {
			var decoded any
			if decodeJSON([]byte(text), &decoded) == nil {
				v = decoded
			}
		}
		out[k] = v
	}
	return out
}
