package workspace

import (
	"net"
	"net/http"
	"net/url"
	"strings"
)

// guard lets only this machine in. A page of a foreign site could otherwise
// reach the server by a name that it points at loopback (DNS rebinding), or
// post to it blindly from a person's browser.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !loopback(r.Host) {
			http.Error(w, "The workspace answers to 127.0.0.1 and localhost only, not to "+r.Host, http.StatusForbidden)
			return
		}
		// Slack clients send an Origin of their own on the socket: the Slack side is held by tokens instead.
		if (strings.HasPrefix(r.URL.Path, "/_workspace/")) && foreign(r) {
			http.Error(w, "Requests from another site are refused", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func loopback(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

func foreign(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "cross-site", "same-site":
		return true
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)
	return err != nil || u.Host != r.Host
}
