package fault

import (
	"context"
	"errors"
	"net"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"labbot/scenarios/engine"
)

// Unreachable tells whether an error says nothing about the object asked for:
// no connection, no answer in time, a refusal to serve now (429), or trouble
// inside the API server (5xx). Asking again later is the only answer to it.
func Unreachable(err error) bool {
	if err == nil {
		return false
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return true
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true // the request never got an answer of the API
	}
	if apierrors.IsTooManyRequests(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) {
		return true
	}
	return status.Status().Code >= http.StatusInternalServerError
}

// outcome turns an error of the API into a result, in the API's own words.
func outcome(err error) engine.Result {
	if r, ok := errors.AsType[*refusal](err); ok {
		return failed(engine.ReasonNotOurs, r.Error())
	}
	if Unreachable(err) {
		return engine.Result{Status: engine.ResultUnreachable, Reason: unreached(err), Message: err.Error()}
	}
	return failed(reason(err), err.Error())
}

// unreached tells a request that never left from one whose answer is missing.
func unreached(err error) string {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return engine.ReasonNotSent
	}
	return reason(err)
}

func reason(err error) string {
	r := apierrors.ReasonForError(err)
	if r == metav1.StatusReasonUnknown {
		return ""
	}
	return string(r)
}

func failed(reason, message string) engine.Result {
	return engine.Result{Status: engine.ResultFailed, Reason: reason, Message: message}
}

func pending(reason, message string, uid types.UID) engine.Result {
	return engine.Result{Status: engine.ResultPending, Reason: reason, Message: message, UID: string(uid)}
}

func done(message string, uid types.UID) engine.Result {
	return engine.Result{Status: engine.ResultDone, Message: message, UID: string(uid)}
}
