package workspace

import (
	"context"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/slackevents"
	"github.com/slack-go/slack/socketmode"
)

// bot answers with slack-go's own clients: the proof that they work here.
func runBot(t *testing.T, s *Server, handle func(*slack.Client, *socketmode.Client, socketmode.Event)) *slack.Client {
	t.Helper()
	api := slack.New(s.app.BotToken, slack.OptionAPIURL(s.APIURL()), slack.OptionAppLevelToken(s.app.AppToken))
	sock := socketmode.New(api)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); sock.RunContext(ctx) }() //nolint:errcheck // ends with ctx
	hello := make(chan struct{})
	go func() {
		for {
			select {
			case e := <-sock.Events:
				if e.Type == socketmode.EventTypeHello {
					close(hello)
				}
				handle(api, sock, e)
			case <-ctx.Done():
				return
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	select {
	case <-hello:
	case <-time.After(5 * time.Second):
		t.Fatal("no hello within 5 s")
	}
	return api
}

func modal(title string) slack.ModalViewRequest {
	input := slack.NewPlainTextInputBlockElement(nil, "why")
	return slack.ModalViewRequest{
		Type: slack.VTModal, Title: slack.NewTextBlockObject("plain_text", title, false, false), CallbackID: "quiz",
		Submit: slack.NewTextBlockObject("plain_text", "Answer", false, false),
		Blocks: slack.Blocks{BlockSet: []slack.Block{
			slack.NewInputBlock("q1", slack.NewTextBlockObject("plain_text", "Why?", false, false), nil, input),
		}},
	}
}

func board(text string) slack.MsgOption {
	button := slack.NewButtonBlockElement("lab.rollback", "r-1", slack.NewTextBlockObject("plain_text", "Rollback", false, false))
	return slack.MsgOptionBlocks(
		slack.NewSectionBlock(slack.NewTextBlockObject("mrkdwn", text, false, false), nil, nil),
		slack.NewActionBlock("run", button),
	)
}

func TestStoryWithSlackGo(t *testing.T) {
	s := start(t)
	failures := make(chan error, 20)
	check := func(err error) {
		if err != nil {
			failures <- err
		}
	}
	api := runBot(t, s, func(api *slack.Client, sock *socketmode.Client, e socketmode.Event) {
		switch data := e.Data.(type) {
		case slack.SlashCommand:
			check(sock.Ack(*e.Request, map[string]any{"text": "starting " + data.Text}))
			_, _, err := api.PostMessage(data.ChannelID, slack.MsgOptionText("board", false), board("*running*"))
			check(err)
		case slack.InteractionCallback:
			switch data.Type {
			case slack.InteractionTypeBlockActions:
				check(sock.Ack(*e.Request))
				_, _, _, err := api.UpdateMessage(data.Channel.ID, data.Message.Timestamp, slack.MsgOptionText("board 2", false), board("*rolled back*"))
				check(err)
				_, err = api.OpenView(data.TriggerID, modal("Quiz"))
				check(err)
			case slack.InteractionTypeViewSubmission:
				if data.View.State.Values["q1"]["why"].Value == "bad" {
					check(sock.Ack(*e.Request, slack.NewErrorsViewSubmissionResponse(map[string]string{"q1": "think again"})))
					return
				}
				check(sock.Ack(*e.Request))
			}
		case slackevents.EventsAPIEvent:
			check(sock.Ack(*e.Request))
			if m, ok := data.InnerEvent.Data.(*slackevents.AppMentionEvent); ok {
				_, _, err := api.PostMessage(m.Channel, slack.MsgOptionText("here I am", false), slack.MsgOptionTS(m.ThreadTimeStamp))
				check(err)
			}
		}
	})

	o := s.do(t, "command", obj{"user": "amir", "channel": "#k8s-fundamentals", "text": "/lab break-image"})
	if got := inside(o, "ack.text"); got != "starting break-image" {
		t.Errorf("ack = %v", o)
	}
	ts := waitMessage(t, s, "channel=k8s-fundamentals&as=amir", func(m obj) bool { return m["text"] == "board" })["ts"].(string)
	eph := waitMessage(t, s, "channel=k8s-fundamentals&as=amir", func(m obj) bool { return m["ephemeral"] == true })
	if eph["text"] != "starting break-image" {
		t.Errorf("ephemeral = %v", eph)
	}
	for _, m := range s.read(t, "messages?channel=k8s-fundamentals&as=lena") {
		if m["ephemeral"] == true {
			t.Errorf("lena sees amir's ephemeral %v", m)
		}
	}

	s.do(t, "click", obj{"user": "amir", "channel": "k8s-fundamentals", "ts": ts, "action_id": "lab.rollback"})
	m := waitMessage(t, s, "channel=k8s-fundamentals", func(m obj) bool { return m["edits"] == 1.0 })
	if m["text"] != "board 2" {
		t.Errorf("after the click: %v", m)
	}
	var stack []obj
	eventually(t, "a modal opens", func() bool { stack = s.read(t, "views?user=amir"); return len(stack) == 1 })
	vid := stack[0]["id"].(string)

	if o, _ := s.act(t, "submit", obj{"user": "amir", "view_id": vid, "values": obj{}}); inside(o, "errors.q1") == nil {
		t.Errorf("an empty required field passed: %v", o)
	}
	if o, _ := s.act(t, "submit", obj{"user": "amir", "view_id": vid, "values": obj{"why": "bad"}}); inside(o, "errors.q1") != "think again" {
		t.Errorf("errors of the app: %v", o)
	}
	if o := s.do(t, "submit", obj{"user": "amir", "view_id": vid, "values": obj{"q1": obj{"why": obj{"value": "the tag"}}}}); o["action"] != "close" {
		t.Errorf("submit: %v", o)
	}
	if stack := s.read(t, "views?user=amir"); len(stack) != 0 {
		t.Errorf("views left open: %v", stack)
	}

	s.do(t, "message", obj{"user": "lena", "channel": "k8s-fundamentals", "thread_ts": ts, "text": "@labbot status"})
	reply := waitMessage(t, s, "channel=k8s-fundamentals&thread_ts="+ts, func(m obj) bool { return m["text"] == "here I am" })
	if reply["thread_ts"] != ts {
		t.Errorf("reply went to %v, want thread %s", reply["thread_ts"], ts)
	}
	root := s.read(t, "messages?channel=k8s-fundamentals&thread_ts="+ts)[0]
	if root["reply_count"] != 2.0 || root["latest_reply"] != reply["ts"] {
		t.Errorf("root counts %v replies, latest %v", root["reply_count"], root["latest_reply"])
	}
	uploadWithSlackGo(t, s, api, ts)
	select {
	case err := <-failures:
		t.Errorf("the bot met an error: %v", err)
	default:
	}
}

func uploadWithSlackGo(t *testing.T, s *Server, api *slack.Client, ts string) {
	t.Helper()
	text := "Name: web-1\nStatus: ErrImagePull\n"
	if _, err := api.UploadFile(slack.UploadFileParameters{Filename: "describe.txt", Title: "describe", Content: text, FileSize: len(text), Channel: s.class(), ThreadTimestamp: ts}); err != nil {
		t.Fatalf("upload: %v", err)
	}
	m := waitMessage(t, s, "channel=k8s-fundamentals&thread_ts="+ts, func(m obj) bool { return m["files"] != nil })
	f := m["files"].([]any)[0].(obj)
	if f["preview"] != text || f["lines"] != 3.0 {
		t.Errorf("file = %v", f)
	}
	if got, _, _, err := api.GetConversationReplies(&slack.GetConversationRepliesParameters{ChannelID: s.class(), Timestamp: ts}); err != nil || len(got) < 4 {
		t.Errorf("replies through slack-go: %d, %v", len(got), err)
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not within 5 s: %s", what)
		}
		<-tick.C
	}
}

func waitMessage(t *testing.T, s *Server, query string, ok func(obj) bool) obj {
	t.Helper()
	var found obj
	eventually(t, "a message in "+query, func() bool {
		for _, m := range s.read(t, "messages?"+query) {
			if ok(m) {
				found = m
				return true
			}
		}
		return false
	})
	return found
}
