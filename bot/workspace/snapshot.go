package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const snapshotVersion = 1

// snapshot is the state file: history and files, not sockets or open modals.
type snapshot struct {
	Version  int              `json:"version"`
	Channels []*channel       `json:"channels"`
	Files    map[string]*file `json:"files"`
	Homes    map[string]*view `json:"homes"`
}

// dirty plans a save. The mutex is held.
func (s *Server) dirty() {
	if s.opt.StateFile == "" || s.saving != nil || s.stop.Err() != nil {
		return
	}
	// A long history takes long to encode, and the mutex is held for it: the
	// longer it took, the rarer it is done.
	s.saving = time.AfterFunc(max(s.opt.Timing.Save, 20*s.saveTook), func() {
		s.mu.Lock()
		s.saving = nil
		s.mu.Unlock()
		if err := s.save(); err != nil {
			s.opt.Logger.Sugar().Errorf("%v", err)
		}
	})
}

// save writes beside the file and renames, so that a crash leaves the old one.
func (s *Server) save() error {
	if s.opt.StateFile == "" {
		return nil
	}
	s.saveMu.Lock()
	defer s.saveMu.Unlock()
	s.mu.Lock()
	began := time.Now()
	raw, err := json.Marshal(snapshot{Version: snapshotVersion, Channels: s.channels, Files: s.files, Homes: s.homes})
	s.saveTook = time.Since(began)
	s.mu.Unlock()
	if err != nil {
		return fmt.Errorf("encode the workspace state: %w", err)
	}
	temp := s.opt.StateFile + ".new"
	if err := os.MkdirAll(filepath.Dir(temp), 0o700); err != nil {
		return fmt.Errorf("save the workspace state: %w", err)
	}
	if err := os.WriteFile(temp, raw, 0o600); err != nil {
		return fmt.Errorf("save the workspace state: %w", err)
	}
	if err := os.Rename(temp, s.opt.StateFile); err != nil {
		return fmt.Errorf("save the workspace state: %w", err)
	}
	return nil
}

// load takes the saved history into the channels of the options.
func (s *Server) load() error {
	if s.opt.StateFile == "" {
		return nil
	}
	raw, err := os.ReadFile(s.opt.StateFile)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the workspace state: %w", err)
	}
	var old snapshot
	if err := decodeJSON(raw, &old); err != nil {
		return fmt.Errorf("read the workspace state %s: %w (move the file away to begin anew)", s.opt.StateFile, err)
	}
	if old.Version != snapshotVersion {
		return fmt.Errorf("read the workspace state %s: version %d is not %d (move the file away to begin anew)", s.opt.StateFile, old.Version, snapshotVersion)
	}
	for _, c := range old.Channels {
		for _, m := range c.Messages {
			c.index(m)
		}
		if now := s.channelByID(c.ID); now != nil {
			*now = *c
		} else {
			s.channels = append(s.channels, c)
		}
	}
	for id, f := range old.Files {
		s.files[id] = f
	}
	for user, v := range old.Homes {
		s.homes[user], s.views[v.ID] = v, v
	}
	return nil
}
