package workspace

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// room prepares what the error table refers to.
func room(t *testing.T) (*Server, map[string]string) {
	s := start(t, func(o *Options) {
		o.Channels = []Channel{{Name: "class"}, {Name: "general"}, {Name: "staff", Private: true, Members: []string{"irina"}}, {Name: "nobot", Members: []string{"irina", "amir"}}, {Name: "old"}}
	})
	ids := map[string]string{}
	for _, c := range s.channels {
		ids[c.Name] = c.ID
	}
	ids["amir"], ids["dm"] = s.person("amir").ID, s.dm(s.person("amir").ID).ID
	ids["bot"] = s.app.BotUserID
	own := s.must(t, "chat.postMessage", "channel", ids["class"], "text", "own")
	ids["own"] = own["ts"].(string)
	ids["rich"] = s.must(t, "chat.postMessage", "channel", ids["class"], "text", "r", "blocks", `[{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"x"}]}]}]`)["ts"].(string)
	ids["theirs"] = s.do(t, "message", obj{"user": "amir", "channel": "class", "text": "hi"})["ts"].(string)
	s.do(t, "archive", obj{"channel": "old"})
	return s, ids
}

func TestMethodErrors(t *testing.T) {
	s, ids := room(t)
	fill := strings.NewReplacer("$class", ids["class"], "$staff", ids["staff"], "$nobot", ids["nobot"], "$old", ids["old"], "$amir", ids["amir"], "$dm", ids["dm"], "$bot", ids["bot"], "$own", ids["own"], "$theirs", ids["theirs"], "$rich", ids["rich"])
	section := `[{"type":"section","text":{"type":"mrkdwn","text":"x"}}]`
	for _, c := range []struct {
		method, args, want string // args as key=value, separated by |
	}{
		{"chat.postMessage", "text=x", "channel_not_found"},
		{"chat.postMessage", "channel=C0NOWHERE|text=x", "channel_not_found"},
		{"chat.postMessage", "channel=$staff|text=x", "channel_not_found"},
		{"chat.postMessage", "channel=$nobot|text=x", "not_in_channel"},
		{"chat.postMessage", "channel=$old|text=x", "is_archived"},
		{"chat.postMessage", "channel=$class", "no_text"},
		{"chat.postMessage", "channel=$class|text=x|blocks={}", "invalid_blocks_format"},
		{"chat.postMessage", "channel=$class|text=x|blocks=[", "invalid_blocks_format"},
		{"chat.postMessage", "channel=$class|text=x|blocks=[{}]", "invalid_blocks"},
		{"chat.postMessage", "channel=$class|blocks=[]", "no_text"},
		{"chat.postMessage", "channel=$class|text=x|metadata=[]", "invalid_metadata_format"},
		{"chat.postMessage", `channel=$class|text=x|metadata={"event_type":"","event_payload":null}`, "invalid_metadata_format"},
		{"chat.postMessage", `channel=$class|text=x|metadata={"event_type":"a","event_payload":{"k":"` + strings.Repeat("x", 9000) + `"}}`, "metadata_too_large"},
		{"chat.postMessage", "channel=$class|text=x|thread_ts=abc", "invalid_thread_ts"},
		{"chat.postMessage", "channel=$class|text=x|markdown_text=y", "markdown_text_conflict"},
		{"chat.postMessage", "channel=$class|text=x|attachments={}", "invalid_attachments"},
		{"chat.postMessage", "channel=$amir|text=to a person", ""},
		{"chat.postMessage", "channel=#class|text=by name", ""},
		{"chat.update", "channel=$class|ts=1.000001|text=x", "message_not_found"},
		{"chat.update", "channel=$class|ts=$theirs|text=x", "cant_update_message"},
		{"chat.update", "channel=$amir|ts=$own|text=x", "channel_not_found"},
		{"chat.update", "channel=$class|ts=$own|text=" + strings.Repeat("x", 4001), "msg_too_long"},
		{"chat.update", "channel=$class|ts=$rich|text=x|blocks=" + section, "block_mismatch"},
		{"chat.update", "channel=$class|ts=$own|text=" + strings.Repeat("я", 4000), ""},
		{"chat.delete", "channel=$class|ts=$theirs", "cant_delete_message"},
		{"chat.delete", "channel=$class|ts=1.000001", "message_not_found"},
		{"chat.postEphemeral", "channel=$class|text=x|user=U0NOBODY", "user_not_in_channel"},
		{"chat.postEphemeral", "channel=$nobot|text=x|user=$amir", "not_in_channel"},
		{"chat.postEphemeral", "channel=$class|user=$amir", "no_text"},
		{"chat.getPermalink", "channel=$class|message_ts=1.000001", "message_not_found"},
		{"conversations.info", "channel=$staff", "channel_not_found"},
		{"conversations.info", "channel=$class", ""},
		{"conversations.list", "types=party", "invalid_types"},
		{"conversations.list", "limit=no", "invalid_limit"},
		{"conversations.list", "cursor=xx", "invalid_cursor"},
		{"conversations.history", "channel=$nobot", "not_in_channel"},
		{"conversations.history", "channel=$class|oldest=yesterday", "invalid_ts_oldest"},
		{"conversations.history", "channel=$class|latest=x", "invalid_ts_latest"},
		{"conversations.replies", "channel=$class|ts=1.000001", "thread_not_found"},
		{"conversations.open", "", "users_list_not_supplied"},
		{"conversations.open", "users=U0NOBODY", "user_not_found"},
		{"conversations.open", "users=a,b,c,d,e,f,g,h,i", "too_many_users"},
		{"conversations.open", "channel=$class", "method_not_supported_for_channel_type"},
		{"conversations.open", "users=$amir", ""},
		{"conversations.join", "channel=$dm", "method_not_supported_for_channel_type"},
		{"conversations.join", "channel=$old", "is_archived"},
		{"conversations.create", "", "invalid_name_required"},
		{"conversations.create", "name=Big", "invalid_name_specials"},
		{"conversations.create", "name=" + strings.Repeat("a", 81), "invalid_name_maxlength"},
		{"conversations.create", "name=---", "invalid_name_punctuation"},
		{"conversations.create", "name=old", "name_taken"},
		{"conversations.invite", "channel=$class", "no_user"},
		{"conversations.invite", "channel=$class|users=$bot", "cant_invite_self"},
		{"conversations.invite", "channel=$class|users=$amir", "already_in_channel"},
		{"conversations.invite", "channel=$nobot|users=$amir", "not_in_channel"},
		{"conversations.members", "channel=C0NOWHERE", "channel_not_found"},
		{"users.info", "user=U0NOBODY", "user_not_found"},
		{"users.info", "user=$amir", ""},
		{"users.list", "cursor=x", "invalid_cursor"},
		{"users.conversations", "user=U0NOBODY", "user_not_found"},
		{"bots.info", "bot=B0NOBODY", "bot_not_found"},
		{"team.info", "team=T0NO", "team_not_found"},
		{"usergroups.list", "", "plan_upgrade_required"},
		{"reactions.add", "channel=$class|timestamp=$own|name=BAD NAME", "invalid_name"},
		{"reactions.add", "channel=$class|timestamp=x|name=eyes", "bad_timestamp"},
		{"reactions.add", "channel=$class|timestamp=$own|name=eyes", ""},
		{"reactions.add", "channel=$class|timestamp=$own|name=eyes", "already_reacted"},
		{"reactions.remove", "channel=$class|timestamp=$own|name=tada", "no_reaction"},
		{"pins.add", "channel=$class", "no_item_specified"},
		{"pins.add", "channel=$class|timestamp=$own", ""},
		{"pins.add", "channel=$class|timestamp=$own", "already_pinned"},
		{"files.getUploadURLExternal", "filename=a.txt", "invalid_arguments"},
		{"files.getUploadURLExternal", "filename=a.txt|length=0", "invalid_arguments"},
		{"files.completeUploadExternal", `files=[{"id":"F0NO"}]`, "file_not_found"},
		{"files.info", "file=F0NO", "file_not_found"},
		{"views.open", "trigger_id=1.2.ab", "invalid_arguments"},
		{"views.update", "view={}", "invalid_arguments"},
		{"no.such.method", "", "unknown_method"},
		{"apps.connections.open", "", "missing_args"},
	} {
		name := c.method + " " + c.args
		t.Run(name[:min(60, len(name))], func(t *testing.T) {
			var pairs []string
			for _, kv := range strings.Split(fill.Replace(c.args), "|") {
				if k, v, ok := strings.Cut(kv, "="); ok {
					pairs = append(pairs, k, v)
				}
			}
			o := s.api(t, c.method, pairs...)
			if got, _ := o["error"].(string); got != c.want {
				t.Errorf("error = %q, want %q (%.300v)", got, c.want, o)
			}
		})
	}
}

func TestTokens(t *testing.T) {
	s := start(t, func(o *Options) { o.App.Scopes = []string{"commands", "users:read"} })
	for _, c := range []struct{ name, header, field, method, want string }{
		{"none", "", "", "auth.test", "not_authed"},
		{"wrong", "", "xoxb-wrong", "auth.test", "invalid_auth"},
		{"header", s.app.BotToken, "", "auth.test", ""},
		{"field", "", s.app.BotToken, "auth.test", ""},
		{"app token for a bot method", s.app.AppToken, "", "auth.test", "not_allowed_token_type"},
		{"bot token for the socket", s.app.BotToken, "", "apps.connections.open", "not_allowed_token_type"},
		{"app token in the body", "", s.app.AppToken, "apps.connections.open", "missing_args"},
		{"no scope", s.app.BotToken, "", "chat.postMessage", "missing_scope"},
	} {
		t.Run(c.name, func(t *testing.T) {
			form := url.Values{"channel": {s.class()}, "text": {"x"}}
			if c.field != "" {
				form.Set("token", c.field)
			}
			req, _ := http.NewRequest(http.MethodPost, s.APIURL()+c.method, strings.NewReader(form.Encode()))
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			if c.header != "" {
				req.Header.Set("Authorization", "Bearer "+c.header)
			}
			r, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			o := decode(t, r)
			if got, _ := o["error"].(string); got != c.want || r.StatusCode != http.StatusOK {
				t.Errorf("error = %q, status %d, want %q and 200", got, r.StatusCode, c.want)
			}
			if c.want == "missing_scope" && (o["needed"] != "chat:write" || o["provided"] != "commands,users:read" || r.Header.Get("X-OAuth-Scopes") != "commands,users:read") {
				t.Errorf("missing_scope without its details: %v, %v", o, r.Header)
			}
		})
	}
}

func TestJSONBodyAndCallLog(t *testing.T) {
	s := start(t)
	body, _ := json.Marshal(obj{"channel": s.class(), "text": "x", "blocks": []obj{{"type": "divider"}}, "metadata": obj{"event_type": "run", "event_payload": obj{"n": 9007199254740993}}})
	req, _ := http.NewRequest(http.MethodPost, s.APIURL()+"chat.postMessage", strings.NewReader(string(body)))
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	req.Header.Set("Authorization", "Bearer "+s.app.BotToken)
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	o := decode(t, r)
	if o["ok"] != true {
		t.Fatal(o)
	}
	calls := s.read(t, "calls?method=chat.postMessage")
	if len(calls) != 1 || inside(calls[0], "args.text") != "x" || inside(calls[0], "answer.ts") != o["ts"] || calls[0]["status"] != 200.0 {
		t.Errorf("calls = %v", calls)
	}
	if raw, _ := json.Marshal(calls); strings.Contains(string(raw), s.app.BotToken) {
		t.Error("the call log shows a token")
	}
	plain := s.must(t, "conversations.history", "channel", s.class())
	if inside(plain, "messages.0.metadata") != nil {
		t.Error("metadata without include_all_metadata")
	}
	form := url.Values{"token": {s.app.BotToken}, "channel": {s.class()}, "include_all_metadata": {"true"}}
	r, err = http.PostForm(s.APIURL()+"conversations.history", form)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var exact struct {
		Messages []struct {
			Metadata struct {
				Payload struct{ N json.Number } `json:"event_payload"`
			}
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&exact); err != nil || len(exact.Messages) == 0 || exact.Messages[0].Metadata.Payload.N != "9007199254740993" {
		t.Errorf("metadata came back as %+v, %v", exact, err)
	}
}

func TestUpdateKeepsAndClears(t *testing.T) {
	s := start(t)
	ts := s.must(t, "chat.postMessage", "channel", s.class(), "text", "a", "blocks", `[{"type":"divider"}]`, "metadata", `{"event_type":"e","event_payload":{}}`)["ts"].(string)
	look := func() obj { return s.read(t, "messages?channel=k8s-fundamentals")[0] }
	s.must(t, "chat.update", "channel", s.class(), "ts", ts, "text", "b")
	if m := look(); m["blocks"] == nil || m["metadata"] == nil || m["edits"] != 1.0 || m["edited"] == nil {
		t.Errorf("text alone: %v", m)
	}
	s.must(t, "chat.update", "channel", s.class(), "ts", ts, "text", "b", "blocks", "[]", "metadata", "{}")
	if m := look(); m["blocks"] != nil || m["metadata"] != nil || m["edits"] != 2.0 {
		t.Errorf("blocks=[] and metadata={}: %v", m)
	}
}

func TestThreads(t *testing.T) {
	s := start(t)
	post := func(pairs ...string) obj {
		return s.must(t, "chat.postMessage", append([]string{"channel", s.class(), "text", "x"}, pairs...)...)
	}
	root := post()["ts"].(string)
	reply := post("thread_ts", root)
	if inside(reply, "message.thread_ts") != root {
		t.Errorf("reply = %v", reply)
	}
	shown := post("thread_ts", root, "reply_broadcast", "true")
	main := s.read(t, "messages?channel=k8s-fundamentals")
	if len(main) != 2 || main[1]["ts"] != shown["ts"] || main[0]["reply_count"] != 2.0 {
		t.Errorf("main column = %v", main)
	}
	s.must(t, "chat.delete", "channel", s.class(), "ts", root)
	if m := s.read(t, "messages?channel=k8s-fundamentals")[0]; m["subtype"] != "tombstone" {
		t.Errorf("a deleted root with replies: %v", m)
	}
	lost := post("thread_ts", root)
	if inside(lost, "message.thread_ts") != nil {
		t.Errorf("a reply to a deleted root must land in the channel: %v", lost)
	}
	r := s.must(t, "conversations.replies", "channel", s.class(), "ts", root)
	if n := len(r["messages"].([]any)); n != 3 {
		t.Errorf("replies = %d, want root and two", n)
	}
}

func TestPaging(t *testing.T) {
	s := start(t)
	for range 5 {
		s.must(t, "chat.postMessage", "channel", s.class(), "text", "x")
	}
	seen, cursor := map[string]bool{}, ""
	for range 10 {
		o := s.must(t, "conversations.history", "channel", s.class(), "limit", "2", "cursor", cursor)
		for _, m := range o["messages"].([]any) {
			seen[m.(obj)["ts"].(string)] = true
		}
		if cursor, _ = inside(o, "response_metadata.next_cursor").(string); cursor == "" {
			if o["has_more"] != false {
				t.Error("has_more at the end")
			}
			break
		}
	}
	if len(seen) != 5 {
		t.Errorf("saw %d messages, want 5", len(seen))
	}
}
