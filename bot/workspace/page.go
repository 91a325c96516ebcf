package workspace

import (
	"embed"
	"io/fs"
	"net/http"
)

//go:embed page
var pageFiles embed.FS

// servePage gives the browser page. Deep links to a message get the same
// document: the page reads the address itself.
func servePage(mux *http.ServeMux) {
	root, err := fs.Sub(pageFiles, "page")
	if err != nil {
		panic("embedded page folder: " + err.Error())
	}
	files := http.FileServerFS(root)
	own := func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "no-cache")
			w.Header().Set("X-Content-Type-Options", "nosniff")
			w.Header().Set("Referrer-Policy", "no-referrer")
			h.ServeHTTP(w, r)
		})
	}
	mux.Handle("GET /", own(files))
	index := func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, root, "index.html") }
	mux.Handle("GET /archives/", own(http.HandlerFunc(index)))
}
