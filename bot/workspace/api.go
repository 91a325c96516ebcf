package workspace

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// apiError is a refusal in Slack's form. API errors come with HTTP 200.
type apiError struct {
	code       string
	status     int // 200 when zero
	retryAfter int // seconds, with 429
	extra      obj
	html       bool // the body is a proxy's page, not JSON
}

func failed(code string) *apiError { return &apiError{code: code} }

// invalidArguments names what is wrong with the arguments, as Slack does.
func invalidArguments(messages ...string) *apiError {
	return &apiError{code: "invalid_arguments", extra: obj{"response_metadata": obj{"messages": prefixed(messages)}}}
}

func prefixed(messages []string) []string {
	out := make([]string, len(messages))
	for i, m := range messages {
		out[i] = "[ERROR] " + m
	}
	return out
}

func (e *apiError) answer() obj {
	o := obj{"ok": false, "error": e.code}
	for k, v := range e.extra {
		o[k] = v
	}
	return o
}

type appCall struct {
	arguments
	method string
}

// method is one row of the API table.
type method struct {
	scopes  []string          // any one of them is enough
	tier    int               // calls per minute; 0 for the special ones
	app     bool              // takes the app-level token
	missing map[string]string // required argument to the error when it is absent
	run     func(*Server, appCall) (obj, *apiError)
}

// call is one line of the call log.
type call struct {
	At       time.Time
	Method   string
	Args     any
	Answer   any
	Status   int
	Duration time.Duration
}

func (s *Server) handleAPI(w http.ResponseWriter, r *http.Request) {
	began, at := time.Now(), s.now()
	name := r.PathValue("method")
	args, token, inHeader, code := readArguments(r)
	answer, status := obj{}, http.StatusOK
	fault := s.takeFault(name, args)
	if fault.before(r.Context().Done(), s.stop.Done()) {
		s.logCall(call{At: at, Method: name, Args: args.shown(), Status: 0, Duration: time.Since(began)})
		panic(http.ErrAbortHandler)
	}
	var fail *apiError
	if code != "" {
		fail = failed(code)
	} else if fail = fault.refusal(); fail == nil {
		answer, fail = s.dispatch(name, args, token, inHeader, r.Method)
	}
	if fail != nil {
		answer, status = fail.answer(), fail.status
		if status == 0 {
			status = http.StatusOK
		}
		if fail.retryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(fail.retryAfter))
		}
	} else if answer == nil {
		answer = obj{}
	}
	if fail == nil {
		answer["ok"] = true
	}
	s.logCall(call{At: at, Method: name, Args: args.shown(), Answer: answer, Status: status, Duration: time.Since(began)})
	if fault.after() {
		panic(http.ErrAbortHandler) // the effect stays, the answer is lost
	}
	if fail != nil && fail.html {
		http.Error(w, "<html><body><h1>Something went wrong</h1></body></html>", status)
		return
	}
	if m, ok := s.methods[name]; ok {
		if len(m.scopes) > 0 {
			w.Header().Set("X-Accepted-OAuth-Scopes", strings.Join(m.scopes, ","))
		}
		w.Header().Set("X-OAuth-Scopes", s.scopeList())
	}
	writeJSON(w, status, answer)
}

// dispatch checks token, scope, rate and required arguments, in Slack's order,
// and runs the method under the mutex.
func (s *Server) dispatch(name string, args arguments, token string, inHeader bool, verb string) (obj, *apiError) {
	m, ok := s.methods[name]
	if !ok {
		return nil, &apiError{code: "unknown_method", extra: obj{"req_method": name}}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if fail := s.authorise(m, token, inHeader, verb); fail != nil {
		return nil, fail
	}
	if wait := s.limits.tier(name, m, s.now()); wait > 0 {
		return nil, rateLimited(wait)
	}
	for arg, code := range m.missing {
		if args.has(arg) {
			continue
		}
		if code == "" {
			return nil, invalidArguments("missing required field: " + arg)
		}
		return nil, failed(code)
	}
	return m.run(s, appCall{arguments: args, method: name})
}

func (s *Server) authorise(m method, token string, inHeader bool, verb string) *apiError {
	if m.app {
		switch {
		case verb != http.MethodPost:
			return failed("insecure_request")
		case !inHeader:
			return failed("missing_args")
		case token == s.app.BotToken:
			return failed("not_allowed_token_type")
		case token != s.app.AppToken:
			return failed("invalid_auth")
		case s.revoked():
			return failed("token_revoked")
		}
		return nil
	}
	switch {
	case token == "":
		return failed("not_authed")
	case token == s.app.AppToken:
		return failed("not_allowed_token_type")
	case token != s.app.BotToken:
		return failed("invalid_auth")
	case s.revoked():
		return failed("token_revoked")
	}
	return s.needScope(m.scopes...)
}

// needScope passes when any one of the scopes is granted.
func (s *Server) needScope(scopes ...string) *apiError {
	granted := s.scopes()
	if len(scopes) == 0 || slices.ContainsFunc(scopes, func(x string) bool { return slices.Contains(granted, x) }) {
		return nil
	}
	return &apiError{code: "missing_scope", extra: obj{"needed": strings.Join(scopes, ","), "provided": strings.Join(granted, ",")}}
}

func (s *Server) scopeList() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.scopes(), ",")
}

func (s *Server) granted(scope string) bool { return slices.Contains(s.scopes(), scope) }

// needTypeScope asks for the scope of that kind of conversation: channels:read,
// groups:read, im:read or mpim:read.
func (s *Server) needTypeScope(c *channel, act string) *apiError {
	return s.needScope(scopeFamily[c.Type] + ":" + act)
}

var scopeFamily = map[string]string{"channel": "channels", "private": "groups", "im": "im", "mpim": "mpim"}

func rateLimited(wait time.Duration) *apiError {
	seconds := max(1, int((wait+time.Second-1)/time.Second))
	return &apiError{code: "ratelimited", status: http.StatusTooManyRequests, retryAfter: seconds}
}

func (s *Server) logCall(c call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Frozen now: later edits of a message must not rewrite what was answered,
	// and text takes a fraction of the memory that maps do.
	c.Args, c.Answer = frozen(c.Args), frozen(c.Answer)
	s.calls.add(c)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		http.Error(w, fmt.Sprintf("encode the answer: %v", err), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	w.Write(raw) //nolint:errcheck // the caller is gone
}
