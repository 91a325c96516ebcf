package workspace

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"
)

const (
	maxSockets  = 10
	ackLimit    = 20_480 // bytes of one client frame; more closes the socket with 1009
	ticketLife  = 30 * time.Second
	socketQueue = 1024
)

// socket is one Socket Mode connection. Frames to it go through out; done is
// closed when it is given up.
type socket struct {
	number  int
	conn    *websocket.Conn
	out     chan []byte
	done    chan struct{}
	leaving bool // was told to go: gets new envelopes only while there is no other
	gone    bool // cut: gets nothing
	frozen  bool // a fault: takes envelopes, sends and hears nothing
}

func connectionsOpen(s *Server, _ appCall) (obj, *apiError) {
	if s.app.RequestURL != "" {
		return nil, failed("forbidden_team") // Socket Mode is off while HTTP delivery is on
	}
	ticket := randomUUID()
	now := s.now()
	for t, at := range s.tickets {
		if now.Sub(at) > ticketLife {
			delete(s.tickets, t)
		}
	}
	s.tickets[ticket] = now
	return obj{"url": strings.Replace(s.URL(), "http:", "ws:", 1) + "/link/?" + url.Values{"ticket": {ticket}, "app_id": {s.app.ID}}.Encode()}, nil
}

func (s *Server) handleSocket(w http.ResponseWriter, r *http.Request) {
	ticket := r.URL.Query().Get("ticket")
	s.mu.Lock()
	at, ok := s.tickets[ticket]
	delete(s.tickets, ticket)
	s.mu.Unlock()
	if !ok || s.now().Sub(at) > ticketLife {
		http.Error(w, "ticket is spent or unknown: call apps.connections.open", http.StatusForbidden)
		return
	}
	if !s.enter() {
		http.Error(w, "the workspace is closing", http.StatusServiceUnavailable)
		return
	}
	defer s.wg.Done()
	// Slack clients send https://api.slack.com as their Origin; the ticket is the key here.
	sock := &socket{out: make(chan []byte, socketQueue), done: make(chan struct{})}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true,
		OnPingReceived:     func(context.Context, []byte) bool { return !s.isFrozen(sock) },
	})
	if err != nil {
		return // Accept has answered
	}
	sock.conn = conn
	sock.conn.SetReadLimit(4 * ackLimit) // the real limit is checked with Slack's own words
	s.serveSocket(sock, r.URL.Query().Get("debug_reconnects") == "true")
}

func (s *Server) serveSocket(sock *socket, short bool) {
	conn := sock.conn
	ctx, cancel := context.WithCancel(s.stop)
	defer cancel()
	if !s.join(sock, short) {
		frame, _ := json.Marshal(obj{"type": "disconnect", "reason": "too_many_websockets", "debug_info": obj{"host": "applink-local"}}) //nolint:errcheck // constants
		conn.Write(ctx, websocket.MessageText, frame)                                                                                    //nolint:errcheck // closing anyway
		conn.Close(websocket.StatusPolicyViolation, "too many websockets")                                                               //nolint:errcheck // closing
		return
	}
	writing := make(chan struct{})
	go func() {
		defer close(writing)
		s.writeFrames(ctx, sock)
	}()
	if short {
		t := time.AfterFunc(6*time.Minute, func() { s.disconnect(sock, "refresh_requested") })
		defer t.Stop()
	}
	s.readFrames(ctx, sock)
	cancel()
	<-writing
	conn.CloseNow() //nolint:errcheck // closed or gone
	s.leave(sock)
}

// join numbers the socket, greets it and hands over what waited for one.
func (s *Server) join(sock *socket, short bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.sockets) >= maxSockets {
		return false
	}
	s.nextSock++
	sock.number = s.nextSock
	s.sockets = append(s.sockets, sock)
	life := 18060 // seconds, as Slack's samples have it
	if short {
		life = 360
	}
	s.frame(sock, obj{
		"type": "hello", "num_connections": len(s.sockets), "connection_info": obj{"app_id": s.app.ID},
		"debug_info": obj{"host": fmt.Sprintf("applink-local-%d", sock.number), "build_number": 1, "approximate_connection_time": life},
	})
	s.emit(event{name: "app_connected", data: obj{"sockets": len(s.sockets)}})
	waiting := s.backlog
	s.backlog = nil
	for _, e := range waiting {
		s.transmit(e)
	}
	return true
}

func (s *Server) leave(sock *socket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(sock.done)
	s.sockets = slices.DeleteFunc(s.sockets, func(x *socket) bool { return x == sock })
	s.emit(event{name: "app_disconnected", data: obj{"sockets": len(s.sockets)}})
	for _, e := range s.pendingOn(sock) {
		s.redeliver(e)
	}
}

// frame queues one frame; a socket whose queue is full is cut, as a reader that
// slow is dead.
func (s *Server) frame(sock *socket, o obj) {
	raw, err := json.Marshal(o)
	if err != nil {
		s.opt.Logger.Sugar().Errorf("encode a frame: %v", err)
		return
	}
	select {
	case sock.out <- raw:
	default:
		sock.gone = true
		go sock.conn.CloseNow() //nolint:errcheck // cut
	}
}

func (s *Server) isFrozen(sock *socket) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return sock.frozen
}

func (s *Server) writeFrames(ctx context.Context, sock *socket) {
	ping := time.NewTicker(s.opt.Timing.Ping)
	defer ping.Stop()
	pinging := make(chan struct{}, 1)
	for {
		select {
		case raw, ok := <-sock.out:
			if !ok {
				return
			}
			if s.isFrozen(sock) {
				continue
			}
			write, cancel := context.WithTimeout(ctx, 10*time.Second)
			err := sock.conn.Write(write, websocket.MessageText, raw)
			cancel()
			if err != nil {
				sock.conn.CloseNow() //nolint:errcheck // ends the reader
				return
			}
		case <-ping.C:
			if s.isFrozen(sock) {
				continue
			}
			select {
			case pinging <- struct{}{}:
				go s.ping(ctx, sock, pinging)
			default:
			}
		case <-ctx.Done():
			return
		}
	}
}

// ping waits for the pong beside the writer, so that a slow pong holds nothing up.
func (s *Server) ping(ctx context.Context, sock *socket, running <-chan struct{}) {
	defer func() { <-running }()
	ctx, cancel := context.WithTimeout(ctx, 4*s.opt.Timing.Ping)
	defer cancel()
	if sock.conn.Ping(ctx) != nil {
		sock.conn.CloseNow() //nolint:errcheck // dead
	}
}

func (s *Server) readFrames(ctx context.Context, sock *socket) {
	for {
		kind, raw, err := sock.conn.Read(ctx)
		if err != nil {
			return
		}
		if len(raw) > ackLimit {
			sock.conn.Close(websocket.StatusMessageTooBig, fmt.Sprintf("Max frame length of %d has been exceeded.", ackLimit)) //nolint:errcheck // closing
			return
		}
		if kind != websocket.MessageText || s.isFrozen(sock) {
			continue
		}
		var ack struct {
			EnvelopeID string          `json:"envelope_id"`
			Payload    json.RawMessage `json:"payload"`
		}
		if json.Unmarshal(raw, &ack) != nil || ack.EnvelopeID == "" {
			continue
		}
		s.mu.Lock()
		s.acknowledge(ack.EnvelopeID, ack.Payload)
		s.mu.Unlock()
	}
}

// disconnect tells a socket to go and closes it: a warning leaves it some time.
func (s *Server) disconnect(sock *socket, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sock.leaving || s.stop.Err() != nil {
		return
	}
	sock.leaving = true
	s.frame(sock, obj{"type": "disconnect", "reason": reason, "debug_info": obj{"host": fmt.Sprintf("applink-local-%d", sock.number)}})
	grace := 100 * time.Millisecond // the frame must leave before the close does
	if reason == "warning" {
		grace = s.opt.Timing.Warning
	}
	s.wg.Add(1) // the mutex is held, so Close has not begun its wait
	go func() {
		defer s.wg.Done()
		select {
		case <-time.After(grace):
			sock.conn.Close(websocket.StatusGoingAway, reason) //nolint:errcheck // closing
		case <-sock.done:
		case <-s.stop.Done():
		}
	}()
}
