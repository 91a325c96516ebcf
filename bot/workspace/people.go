package workspace

import "strings"

func authTest(s *Server, _ appCall) (obj, *apiError) {
	return obj{
		"url": s.URL() + "/", "team": s.opt.Team.Name, "team_id": s.opt.Team.ID,
		"user": s.app.Name, "user_id": s.app.BotUserID, "bot_id": s.app.BotID, "is_enterprise_install": false,
	}, nil
}

func (s *Server) userObject(u *User) obj {
	return obj{
		"id": u.ID, "team_id": s.opt.Team.ID, "name": u.Name, "deleted": false, "color": strings.TrimPrefix(u.Color, "#"), "real_name": u.RealName,
		"tz": u.TZ, "tz_label": u.TZ, "locale": u.Locale, "is_admin": u.Admin, "is_owner": false, "is_primary_owner": false,
		"is_restricted": u.Guest, "is_ultra_restricted": false, "is_bot": false, "is_app_user": false, "updated": 0,
		"profile": obj{"real_name": u.RealName, "display_name": u.Name, "title": u.Title, "real_name_normalized": u.RealName, "display_name_normalized": u.Name, "team": s.opt.Team.ID},
	}
}

func (s *Server) botUserObject() obj {
	return obj{
		"id": s.app.BotUserID, "team_id": s.opt.Team.ID, "name": s.app.Name, "deleted": false, "real_name": s.app.Name,
		"tz": "Etc/UTC", "is_admin": false, "is_owner": false, "is_primary_owner": false, "is_restricted": false,
		"is_ultra_restricted": false, "is_bot": true, "is_app_user": false, "updated": 0,
		"profile": obj{"real_name": s.app.Name, "display_name": "", "api_app_id": s.app.ID, "bot_id": s.app.BotID, "always_active": true, "team": s.opt.Team.ID},
	}
}

func usersInfo(s *Server, a appCall) (obj, *apiError) {
	id := a.str("user")
	if id == s.app.BotUserID {
		return obj{"user": s.botUserObject()}, nil
	}
	u := s.userByID(id)
	if u == nil {
		return nil, failed("user_not_found")
	}
	o := s.userObject(u)
	if !a.boolean("include_locale") {
		delete(o, "locale")
	}
	return obj{"user": o}, nil
}

func usersList(s *Server, a appCall) (obj, *apiError) {
	all := []obj{}
	for i := range s.opt.Users {
		all = append(all, s.userObject(&s.opt.Users[i]))
	}
	all = append(all, s.botUserObject())
	o, fail := page(a, all, "members", len(all), 1000)
	if fail == nil {
		o["cache_ts"] = s.now().Unix()
	}
	return o, fail
}

func botsInfo(s *Server, a appCall) (obj, *apiError) {
	if id := a.str("bot"); id != "" && id != s.app.BotID {
		return nil, failed("bot_not_found")
	}
	return obj{"bot": obj{"id": s.app.BotID, "deleted": false, "name": s.app.Name, "updated": 0, "app_id": s.app.ID, "user_id": s.app.BotUserID, "icons": obj{}}}, nil
}

func teamInfo(s *Server, a appCall) (obj, *apiError) {
	if id := a.str("team"); id != "" && id != s.opt.Team.ID {
		return nil, failed("team_not_found")
	}
	return obj{"team": obj{"id": s.opt.Team.ID, "name": s.opt.Team.Name, "domain": s.opt.Team.Domain, "url": s.URL() + "/", "email_domain": "", "icon": obj{}}}, nil
}

// User groups come with a paid plan, which a local class does not have.
func planUpgrade(*Server, appCall) (obj, *apiError) { return nil, failed("plan_upgrade_required") }
