//go:build tools

package labbot

import (
	_ "cel.dev/cel-go/cel"
	_ "github.com/alicebob/miniredis/v2"
	_ "github.com/chromedp/chromedp"
	_ "github.com/coder/websocket"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/hibiken/asynq"
	_ "github.com/redis/go-redis/v9"
	_ "github.com/robfig/cron/v3"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/slack-go/slack"
	_ "github.com/slack-go/slack/socketmode"
	_ "github.com/spf13/cobra"
	_ "go.uber.org/zap"
	_ "go.yaml.in/yaml/v3"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/text/feature/plural"
	_ "golang.org/x/text/language"
	_ "golang.org/x/text/unicode/norm"
	_ "golang.org/x/time/rate"
	_ "k8s.io/api/apps/v1"
	_ "k8s.io/apimachinery/pkg/apis/meta/v1"
	_ "k8s.io/client-go/kubernetes"
	_ "k8s.io/kubectl/pkg/describe"
	_ "k8s.io/kubectl/pkg/polymorphichelpers"
	_ "k8s.io/kubectl/pkg/scheme"
)
