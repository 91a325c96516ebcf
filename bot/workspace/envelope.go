package workspace

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"
)

// A command or click is sent again over a new socket while it is this young;
// Slack has been seen to repeat them after a dropped socket.
const (
	repeatWithin = time.Minute
	repeatMost   = 3
)

// envelope is one delivery to the app, kept until it is acked or given up.
type envelope struct {
	id, typ, kind string
	payload       json.RawMessage
	accepts       bool
	attempt       int // events: retries so far
	repeats       int // deliveries after a dropped socket
	sentAt        time.Time
	began         time.Time // on the process clock, for durations
	socket        int
	seq           int
	result        chan ackResult // buffered: the first ack wins
	deadline      *time.Timer
}

// ackResult is how a delivery ended for the person who waits.
type ackResult struct {
	payload json.RawMessage
	err     string
}

type sentRecord struct {
	At       time.Time
	ID, Type string
	Kind     string
	Socket   int
	Attempt  int
	Acked    bool
	AckTime  time.Duration
	Ack      json.RawMessage
}

// send delivers a payload. The mutex is held; the caller waits on result
// without it.
func (s *Server) send(typ, kind string, payload any, accepts bool) *envelope {
	raw, err := json.Marshal(payload)
	if err != nil {
		s.opt.Logger.Sugar().Errorf("encode a %s envelope: %v", typ, err)
		raw = []byte("{}")
	}
	e := &envelope{id: randomUUID(), typ: typ, kind: kind, payload: raw, accepts: accepts, sentAt: s.now(), began: time.Now(), result: make(chan ackResult, 1)}
	if s.app.RequestURL != "" {
		s.deliverHTTP(e)
		return e
	}
	if typ == "events_api" {
		s.watch(e)
	} else if len(s.open()) == 0 {
		e.result <- ackResult{err: "dispatch_failed"}
		return e
	}
	s.pending[e.id] = e
	s.transmit(e)
	return e
}

// open lists the sockets that take new envelopes: those told to go only while
// there is no other, as a warned socket still serves until it closes.
func (s *Server) open() []*socket {
	live := slices.DeleteFunc(slices.Clone(s.sockets), func(x *socket) bool { return x.gone })
	if staying := slices.DeleteFunc(slices.Clone(live), func(x *socket) bool { return x.leaving }); len(staying) > 0 {
		return staying
	}
	return live
}

// transmit gives an envelope to exactly one socket, in turn; without one it
// waits for the next to come.
func (s *Server) transmit(e *envelope) {
	open := s.open()
	if len(open) == 0 {
		s.backlog = append(s.backlog, e)
		return
	}
	slices.SortFunc(open, func(a, b *socket) int { return a.number - b.number })
	sock := open[0]
	for _, x := range open { // the next number after the last one used
		if x.number > s.lastSock {
			sock = x
			break
		}
	}
	s.lastSock, e.socket = sock.number, sock.number
	o := obj{"envelope_id": e.id, "type": e.typ, "payload": e.payload, "accepts_response_payload": e.accepts}
	if e.typ == "events_api" {
		reason := ""
		if e.attempt > 0 {
			reason = "timeout"
		}
		o["retry_attempt"], o["retry_reason"] = e.attempt, reason
	}
	e.seq = s.sent.add(sentRecord{At: s.now(), ID: e.id, Type: e.typ, Kind: e.kind, Socket: sock.number, Attempt: e.attempt})
	s.disturbed(e, sock, o)
}

func (s *Server) acknowledge(id string, payload json.RawMessage) {
	e := s.pending[id]
	if e == nil {
		return // a second ack, or one that came too late to matter
	}
	delete(s.pending, id)
	if e.deadline != nil {
		e.deadline.Stop()
	}
	if i := e.seq - max(s.sent.first, 1); i >= 0 && i < len(s.sent.items) {
		r := &s.sent.items[i]
		r.Acked, r.AckTime, r.Ack = true, time.Since(e.began), payload
	}
	if !e.accepts || bytes.Equal(bytes.TrimSpace(payload), []byte("null")) {
		payload = nil
	}
	select {
	case e.result <- ackResult{payload: payload}:
	default:
	}
}

// watch schedules the next retry of an event that is not acked in time.
func (s *Server) watch(e *envelope) {
	e.deadline = time.AfterFunc(s.opt.Timing.Ack, func() { s.expire(e) })
}

func (s *Server) expire(e *envelope) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending[e.id] != e || s.stop.Err() != nil {
		return
	}
	delete(s.pending, e.id)
	s.backlog = slices.DeleteFunc(s.backlog, func(x *envelope) bool { return x == e })
	if e.attempt >= len(s.opt.Timing.Retries) {
		return
	}
	// A retry is a new envelope around the same event: event_id stays.
	next := &envelope{id: randomUUID(), typ: e.typ, kind: e.kind, payload: e.payload, attempt: e.attempt + 1, sentAt: e.sentAt, began: time.Now(), result: e.result}
	s.pending[next.id] = next
	next.deadline = time.AfterFunc(s.opt.Timing.Retries[e.attempt], func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.pending[next.id] == next && s.stop.Err() == nil {
			s.watch(next)
			s.transmit(next)
		}
	})
}

func (s *Server) pendingOn(sock *socket) []*envelope {
	var out []*envelope
	for _, e := range s.pending {
		if e.socket == sock.number {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b *envelope) int { return a.seq - b.seq })
	return out
}

// redeliver sends what a dropped socket left unacked over another one, with the
// same envelope_id and no sign of a retry.
func (s *Server) redeliver(e *envelope) {
	old := s.now().Sub(e.sentAt) > repeatWithin
	if e.typ != "events_api" && (e.repeats >= repeatMost || old) {
		delete(s.pending, e.id)
		return
	}
	e.repeats++
	e.socket = 0
	s.transmit(e)
}

// wait blocks until the ack or the end of its time. The mutex is not held. An
// envelope that timed out stays pending: a dropped socket may still repeat it.
func (s *Server) wait(e *envelope) ackResult {
	limit := time.NewTimer(s.opt.Timing.Ack)
	defer limit.Stop()
	select {
	case r := <-e.result:
		return r
	case <-limit.C:
	case <-s.stop.Done():
	}
	// An unacked command must not be kept for ever.
	time.AfterFunc(repeatWithin, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.pending[e.id] == e {
			delete(s.pending, e.id)
			s.backlog = slices.DeleteFunc(s.backlog, func(x *envelope) bool { return x == e })
		}
	})
	return ackResult{err: "operation_timeout"}
}
