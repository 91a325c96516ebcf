package slackapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/slack-go/slack"
)

// Error is a call to Slack that failed. Its text holds no token and no ticket.
type Error struct {
	Method string
	// Code is Slack's error code, or "" when Slack gave none.
	Code string
	// Details are Slack's own remarks, such as which block was refused.
	Details []string
	// Maybe says that the effect may have happened all the same: the answer was
	// lost, or Slack does not know. Look before repeating.
	Maybe bool

	cause error
}

func (e *Error) Error() string {
	s := e.Method + ": "
	if e.Code != "" {
		s += e.Code
	} else {
		s += e.cause.Error()
	}
	if len(e.Details) > 0 {
		s += " (" + strings.Join(e.Details, "; ") + ")"
	}
	return s
}

func (e *Error) Unwrap() error { return e.cause }

// SlackCode is the code for callers that know no adapter.
func (e *Error) SlackCode() string { return e.Code }

// fatal are the codes that no repetition mends: the token is wrong or gone, or
// the app lacks a right.
var fatal = []string{"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired",
	"not_allowed_token_type", "org_login_required", "team_added_to_org", "two_factor_setup_required", "missing_scope", "forbidden_team"}

// lasting are the codes that concern one channel or message and stay.
var lasting = []string{"not_in_channel", "channel_not_found", "is_archived", "restricted_action",
	"restricted_action_read_only_channel", "restricted_action_thread_locked", "thread_not_found",
	"cant_update_message", "edit_window_closed", "message_not_found", "no_permission",
	"invalid_blocks", "msg_blocks_too_long", "msg_too_long"}

// Lasting tells whether the same call can never succeed.
func (e *Error) Lasting() bool {
	return slices.Contains(lasting, e.Code) || slices.Contains(fatal, e.Code)
}

// Fatal tells whether the bot cannot go on with its tokens.
func Fatal(err error) bool { return slices.Contains(fatal, code(err)) }

func code(err error) string {
	var s slack.SlackErrorResponse
	if errors.As(err, &s) {
		return s.Err
	}
	return ""
}

// vague are the codes after which the effect may have happened.
var vague = []string{"internal_error", "fatal_error", "service_unavailable", "request_timeout"}

// wrap makes an Error of what slack-go gave. The URL of a failed transfer may
// hold a ticket, so only its cause is kept.
func wrap(method string, err error) error {
	if err == nil {
		return nil
	}
	e := &Error{Method: method, Code: code(err), cause: err}
	var resp slack.SlackErrorResponse
	if errors.As(err, &resp) {
		e.Details = resp.ResponseMetadata.Messages
	}
	var transfer *url.Error
	if errors.As(err, &transfer) {
		e.cause = fmt.Errorf("%s: %w", strings.ToLower(transfer.Op), transfer.Err)
	}
	var status slack.StatusCodeError
	var network net.Error
	e.Maybe = errors.As(err, &status) && status.Code >= 500 || errors.As(err, &network) ||
		errors.Is(err, context.DeadlineExceeded) || slices.Contains(vague, e.Code)
	return e
}
