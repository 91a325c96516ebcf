package workspace

func viewsOpen(s *Server, a appCall) (obj, *apiError) {
	return s.openView(a, func(user string) *apiError {
		if len(s.stacks[user]) > 0 {
			s.dropViews(user, 0) // a client shows one root: the new one takes the place
		}
		return nil
	})
}

func viewsPush(s *Server, a appCall) (obj, *apiError) {
	return s.openView(a, func(user string) *apiError {
		switch n := len(s.stacks[user]); {
		case n == 0:
			return failed("not_found")
		case n >= viewStackLimit:
			return failed("push_limit_reached")
		}
		return nil
	})
}

func (s *Server) openView(a appCall, room func(user string) *apiError) (obj, *apiError) {
	value, err := a.value("view")
	if err != nil {
		return nil, invalidArguments("must provide an object [json-pointer:/view]")
	}
	v, fail := s.readView(value, false)
	if fail != nil {
		return nil, fail
	}
	if s.externalTaken(v.ExternalID, nil) {
		return nil, failed("duplicate_external_id")
	}
	user, fail := s.spendTrigger(a)
	if fail == nil {
		fail = room(user)
	}
	if fail != nil {
		return nil, fail
	}
	s.pushView(user, v)
	return obj{"view": s.viewObject(v)}, nil
}

func viewsUpdate(s *Server, a appCall) (obj, *apiError) {
	if a.has("view_id") == a.has("external_id") {
		return nil, invalidArguments("must provide exactly one of view_id or external_id")
	}
	old := s.views[a.str("view_id")]
	for _, v := range s.views {
		if a.has("external_id") && v.ExternalID == a.str("external_id") {
			old = v
		}
	}
	if old == nil {
		return nil, failed("not_found")
	}
	return s.changeView(a, old)
}

// changeView replaces a view unless the caller's hash is stale.
func (s *Server) changeView(a appCall, old *view) (obj, *apiError) {
	value, err := a.value("view")
	if err != nil {
		return nil, invalidArguments("must provide an object [json-pointer:/view]")
	}
	fresh, fail := s.readView(value, old.Type == "home")
	switch {
	case fail != nil:
		return nil, fail
	case a.has("hash") && a.str("hash") != old.Hash:
		return nil, failed("hash_conflict")
	case s.externalTaken(fresh.ExternalID, old):
		return nil, failed("duplicate_external_id")
	}
	s.replaceView(old, fresh)
	return obj{"view": s.viewObject(old)}, nil
}

func viewsPublish(s *Server, a appCall) (obj, *apiError) {
	user := a.str("user_id")
	if s.app.NoHome {
		return nil, failed("not_enabled")
	}
	if s.userByID(user) == nil {
		return nil, invalidArguments("user not found [json-pointer:/user_id]")
	}
	old := s.homes[user]
	if old == nil {
		if a.has("hash") {
			return nil, failed("hash_conflict")
		}
		old = &view{ID: randomID("V"), Type: "home", User: user}
		old.RootID = old.ID
	}
	o, fail := s.changeView(a, old)
	if fail != nil {
		return nil, fail
	}
	s.homes[user], s.views[old.ID] = old, old
	s.dirty()
	return o, nil
}
