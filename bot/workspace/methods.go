package workspace

import "net/http"

var readScopes = []string{"channels:read", "groups:read", "im:read", "mpim:read"}
var historyScopes = []string{"channels:history", "groups:history", "im:history", "mpim:history"}

// methodTable is the API: who may call, how often, and what must be there.
// Tiers are calls per minute; the special ones have limits of their own.
func methodTable() map[string]method {
	gone := map[string]string{"channel": "channel_not_found"}
	one := func(scope string) []string { return []string{scope} }
	need := func(name string) map[string]string { return map[string]string{name: ""} }
	return map[string]method{
		"apps.connections.open":        {tier: 50, app: true, run: connectionsOpen},
		"auth.test":                    {run: authTest},
		"bots.info":                    {tier: 50, scopes: one("users:read"), run: botsInfo},
		"chat.postMessage":             {scopes: one("chat:write"), missing: gone, run: chatPostMessage},
		"chat.postEphemeral":           {tier: 100, scopes: one("chat:write"), missing: gone, run: chatPostEphemeral},
		"chat.update":                  {tier: 50, scopes: one("chat:write"), missing: gone, run: chatUpdate},
		"chat.delete":                  {tier: 50, scopes: one("chat:write"), missing: gone, run: chatDelete},
		"chat.getPermalink":            {missing: gone, run: chatGetPermalink},
		"conversations.create":         {tier: 20, scopes: []string{"channels:manage", "channels:write", "groups:write", "im:write", "mpim:write"}, missing: map[string]string{"name": "invalid_name_required"}, run: conversationsCreate},
		"conversations.history":        {tier: 50, scopes: historyScopes, missing: gone, run: conversationsHistory},
		"conversations.info":           {tier: 50, scopes: readScopes, missing: gone, run: conversationsInfo},
		"conversations.invite":         {tier: 50, scopes: []string{"channels:manage", "channels:write.invites", "groups:write", "groups:write.invites"}, missing: gone, run: conversationsInvite},
		"conversations.join":           {tier: 50, scopes: one("channels:join"), missing: gone, run: conversationsJoin},
		"conversations.list":           {tier: 20, scopes: readScopes, run: conversationsList},
		"conversations.members":        {tier: 100, scopes: readScopes, missing: gone, run: conversationsMembers},
		"conversations.open":           {tier: 50, scopes: []string{"channels:manage", "groups:write", "im:write", "mpim:write"}, run: conversationsOpen},
		"conversations.replies":        {tier: 50, scopes: historyScopes, missing: gone, run: conversationsReplies},
		"files.getUploadURLExternal":   {tier: 100, scopes: one("files:write"), missing: map[string]string{"filename": "", "length": ""}, run: filesGetUploadURL},
		"files.completeUploadExternal": {tier: 100, scopes: one("files:write"), missing: need("files"), run: filesComplete},
		"files.info":                   {tier: 100, scopes: one("files:read"), missing: map[string]string{"file": "file_not_found"}, run: filesInfo},
		"pins.add":                     {tier: 20, scopes: one("pins:write"), missing: gone, run: pinsAdd},
		"reactions.add":                {tier: 50, scopes: one("reactions:write"), missing: map[string]string{"channel": "no_item_specified", "timestamp": "no_item_specified", "name": "invalid_name"}, run: reactionsAdd},
		"reactions.remove":             {tier: 20, scopes: one("reactions:write"), missing: map[string]string{"channel": "no_item_specified", "timestamp": "no_item_specified", "name": "invalid_name"}, run: reactionsRemove},
		"team.info":                    {tier: 50, scopes: one("team:read"), run: teamInfo},
		"usergroups.list":              {tier: 20, scopes: one("usergroups:read"), run: planUpgrade},
		"usergroups.users.list":        {tier: 20, scopes: one("usergroups:read"), missing: need("usergroup"), run: planUpgrade},
		"users.conversations":          {tier: 50, scopes: readScopes, run: usersConversations},
		"users.info":                   {tier: 100, scopes: one("users:read"), missing: map[string]string{"user": "user_not_found"}, run: usersInfo},
		"users.list":                   {tier: 20, scopes: one("users:read"), run: usersList},
		"views.open":                   {tier: 100, missing: need("view"), run: viewsOpen},
		"views.push":                   {tier: 100, missing: need("view"), run: viewsPush},
		"views.update":                 {tier: 100, missing: need("view"), run: viewsUpdate},
		"views.publish":                {tier: 100, missing: map[string]string{"view": "", "user_id": ""}, run: viewsPublish},
	}
}

func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/{method}", s.handleAPI)
	mux.HandleFunc("POST /api/{method}", s.handleAPI)
	mux.HandleFunc("GET /link/", s.handleSocket)
	mux.HandleFunc("POST /response/{id}", s.handleResponseURL)
	mux.HandleFunc("POST /upload/v1/{ticket}", s.handleUpload)
	mux.HandleFunc("GET /_workspace/files/{id}/{name}", s.handleFile)
	mux.HandleFunc("GET /_workspace/events", s.handleEvents)
	s.controlRoutes(mux)
	servePage(mux)
	return mux
}
