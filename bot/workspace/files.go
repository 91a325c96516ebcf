package workspace

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	fileLimit      = 16 << 20 // bytes of one upload
	fileTotalLimit = 64 << 20 // bytes kept in all; the oldest go first
	previewLimit   = 1000     // bytes of a text file's preview
)

// file is an upload; Data is there once its bytes have come.
type file struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Title    string `json:"title"`
	AltText  string `json:"alt_text,omitempty"`
	Length   int    `json:"length"`
	Data     []byte `json:"data"`
	Created  int64  `json:"created"` // unix seconds
	Done     bool   `json:"done"`
	Channel  string `json:"channel,omitempty"`
	ShareTS  string `json:"share_ts,omitempty"`
	ThreadTS string `json:"thread_ts,omitempty"`
	ticket   string
}

func (f *file) mimetype() string {
	if t := mime.TypeByExtension(path.Ext(f.Name)); t != "" {
		kind, _, _ := mime.ParseMediaType(t)
		if !strings.HasPrefix(kind, "text/html") && !strings.Contains(kind, "svg") && !strings.Contains(kind, "javascript") {
			return kind
		}
		return "text/plain" // never let an upload run as a page of this server
	}
	if utf8.Valid(f.Data) {
		return "text/plain"
	}
	kind, _, _ := mime.ParseMediaType(http.DetectContentType(f.Data))
	return kind
}

func (f *file) isText() bool {
	kind := f.mimetype()
	return utf8.Valid(f.Data) && (strings.HasPrefix(kind, "text/") || kind == "application/json" || strings.HasSuffix(kind, "yaml"))
}

func (f *file) preview() string {
	p := f.Data[:min(len(f.Data), previewLimit)]
	for len(p) > 0 && !utf8.Valid(p) {
		p = p[:len(p)-1]
	}
	return string(p)
}

func (f *file) path() string { return "/_workspace/files/" + f.ID + "/" + url.PathEscape(f.Name) }

func (s *Server) fileObject(f *file) obj {
	o := obj{
		"id": f.ID, "created": f.Created, "timestamp": f.Created, "name": f.Name, "title": f.Title, "mimetype": f.mimetype(),
		"filetype": strings.TrimPrefix(path.Ext(f.Name), "."), "pretty_type": "File", "user": s.app.BotUserID, "size": len(f.Data), "mode": "hosted",
		"is_external": false, "is_public": true, "url_private": s.URL() + f.path(), "url_private_download": s.URL() + f.path() + "?download=1",
		"permalink": s.URL() + f.path(), "channels": []string{}, "groups": []string{}, "ims": []string{}, "shares": obj{},
	}
	put(o, "alt_txt", f.AltText)
	if f.isText() {
		o["mode"], o["preview"], o["lines"] = "snippet", f.preview(), bytes.Count(f.Data, []byte("\n"))+1
	}
	if c := s.channelByID(f.Channel); c != nil && f.ShareTS != "" {
		share := obj{"ts": f.ShareTS, "channel_name": c.Name, "team_id": s.opt.Team.ID}
		put(share, "thread_ts", f.ThreadTS)
		kind := map[bool]string{true: "private", false: "public"}[c.private()]
		o["shares"] = obj{kind: obj{c.ID: []obj{share}}}
		o["channels"] = []string{c.ID}
	}
	return o
}

func (s *Server) screenFiles(m *message) []obj {
	var out []obj
	for _, id := range m.Files {
		f := s.files[id]
		if f == nil {
			continue
		}
		o := obj{
			"id": f.ID, "name": f.Name, "title": f.Title, "mimetype": f.mimetype(), "filetype": strings.TrimPrefix(path.Ext(f.Name), "."),
			"size": len(f.Data), "url": f.path(),
		}
		put(o, "alt_text", f.AltText)
		if f.isText() {
			o["preview"], o["lines"] = f.preview(), bytes.Count(f.Data, []byte("\n"))+1
		}
		out = append(out, o)
	}
	return out
}

func filesGetUploadURL(s *Server, a appCall) (obj, *apiError) {
	n, err := strconv.Atoi(a.str("length"))
	switch {
	case err != nil || n < 1:
		return nil, invalidArguments("must be greater than 0 [json-pointer:/length]")
	case n > fileLimit:
		return nil, failed("file_upload_size_restricted")
	case tooLong(a.str("alt_txt"), 1000):
		return nil, failed("alt_txt_too_large")
	case a.has("snippet_type") && n > 1<<20:
		return nil, failed("snippet_too_large")
	}
	f := &file{ID: randomID("F"), Name: path.Base(a.str("filename")), AltText: a.str("alt_txt"), Length: n, Created: s.now().Unix(), ticket: randomHex(32)}
	s.files[f.ID] = f
	return obj{"file_id": f.ID, "upload_url": s.URL() + "/upload/v1/" + f.ticket}, nil
}

// handleUpload takes the bytes, bare or as the first part of a form.
func (s *Server) handleUpload(w http.ResponseWriter, r *http.Request) {
	began, at := time.Now(), s.now()
	data, err := uploadBytes(w, r)
	status := http.StatusOK
	var note string
	s.mu.Lock()
	f := s.fileByTicket(r.PathValue("ticket"))
	switch {
	case f == nil:
		status, note = http.StatusNotFound, "no such upload"
	case err != nil:
		status, note = http.StatusBadRequest, "the body could not be read"
	case len(data) != f.Length:
		status, note = http.StatusBadRequest, fmt.Sprintf("%d bytes came, %d were announced", len(data), f.Length)
	default:
		f.Data, f.ticket = data, ""
		note = fmt.Sprintf("OK - %d", len(data))
		s.trimFiles()
	}
	s.mu.Unlock()
	s.logCall(call{At: at, Method: "upload", Args: obj{"bytes": len(data)}, Answer: note, Status: status, Duration: time.Since(began)})
	w.WriteHeader(status)
	io.WriteString(w, note) //nolint:errcheck // the caller is gone
}

func uploadBytes(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	r.Body = http.MaxBytesReader(w, r.Body, fileLimit+(1<<16))
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "multipart/form-data" {
		return io.ReadAll(r.Body)
	}
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, err
	}
	for {
		p, err := parts.NextPart()
		if err != nil {
			return nil, err
		}
		if p.FileName() != "" {
			return io.ReadAll(p)
		}
	}
}

func (s *Server) fileByTicket(ticket string) *file {
	for _, f := range s.files {
		if f.ticket != "" && f.ticket == ticket {
			return f
		}
	}
	return nil
}

func (s *Server) trimFiles() {
	total := 0
	for _, f := range s.files {
		total += len(f.Data)
	}
	for total > fileTotalLimit {
		var oldest *file
		for _, f := range s.files {
			if len(f.Data) > 0 && (oldest == nil || f.Created < oldest.Created) {
				oldest = f
			}
		}
		total -= len(oldest.Data)
		delete(s.files, oldest.ID)
	}
}

func filesComplete(s *Server, a appCall) (obj, *apiError) {
	files, fail := s.uploaded(a)
	if fail != nil {
		return nil, fail
	}
	targets := a.list("channels")
	if a.has("channel_id") {
		targets = append(targets, a.str("channel_id"))
	}
	if len(targets) > 100 {
		return nil, failed("channels_limit_exceeded")
	}
	var channels []*channel
	for _, id := range targets {
		c, fail := s.findChannel(id)
		switch {
		case fail != nil:
			return nil, fail
		case c.Archived:
			return nil, failed("posting_to_channel_denied")
		case !c.member(s.app.BotUserID):
			return nil, failed("not_in_channel")
		}
		channels = append(channels, c)
	}
	answer := []obj{}
	for _, f := range files {
		f.Done = true
		answer = append(answer, obj{"id": f.ID, "title": f.Title})
	}
	for _, c := range channels {
		s.share(c, files, a)
	}
	s.dirty()
	return obj{"files": answer}, nil
}

// uploaded reads the files argument: each must have its bytes and be new.
func (s *Server) uploaded(a appCall) ([]*file, *apiError) {
	value, err := a.value("files")
	list, ok := value.([]any)
	if err != nil || !ok || len(list) == 0 {
		return nil, invalidArguments("must provide an array [json-pointer:/files]")
	}
	var out []*file
	for _, item := range list {
		o, _ := item.(obj)
		fid, _ := o["id"].(string)
		f := s.files[fid]
		if f == nil || f.Done || f.Data == nil {
			return nil, failed("file_not_found")
		}
		f.Title = f.Name
		if t, ok := o["title"].(string); ok && t != "" {
			f.Title = t
		}
		out = append(out, f)
	}
	return out, nil
}

// share posts the message that carries the files. On Slack it comes a moment
// later and the call does not return its ts: see file.shares.
func (s *Server) share(c *channel, files []*file, a appCall) {
	m := &message{User: s.app.BotUserID, Bot: true, Text: a.str("initial_comment")}
	if ts := a.str("thread_ts"); ts != "" && c.find(ts) != nil {
		m.ThreadTS = ts
	}
	for _, f := range files {
		m.Files = append(m.Files, f.ID)
		f.Channel, f.ThreadTS = c.ID, m.ThreadTS
	}
	s.post(c, m)
	for _, f := range files {
		f.ShareTS = m.TS
	}
}

func filesInfo(s *Server, a appCall) (obj, *apiError) {
	f := s.files[a.str("file")]
	if f == nil || !f.Done {
		return nil, failed("file_not_found")
	}
	return obj{"file": s.fileObject(f), "comments": []obj{}, "response_metadata": obj{"next_cursor": ""}}, nil
}

func (s *Server) handleFile(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	f := s.files[r.PathValue("id")]
	var data []byte
	var kind, name string
	inline := false
	if f != nil {
		data, kind, name = f.Data, f.mimetype(), f.Name
		inline = f.isText() || strings.HasPrefix(kind, "image/")
	}
	s.mu.Unlock()
	if f == nil || data == nil {
		http.Error(w, "no such file", http.StatusNotFound)
		return
	}
	disposition := "attachment"
	if inline && r.URL.Query().Get("download") == "" {
		disposition = "inline"
	}
	if strings.HasPrefix(kind, "text/") {
		kind += "; charset=utf-8"
	}
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Content-Disposition", mime.FormatMediaType(disposition, map[string]string{"filename": name}))
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}
