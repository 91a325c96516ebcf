package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/caarlos0/env/v11"
	"go.yaml.in/yaml/v3"

	"labbot/bot/lab"
)

// config is all that an operator can set. A value comes from the file, and
// LABBOT_* over it. Secrets may be given as LABBOT_…_FILE with a path.
type config struct {
	Lang       string `yaml:"lang" env:"LANG"`
	Redis      string `yaml:"redis" env:"REDIS_URL"`
	Kubeconfig string `yaml:"kubeconfig" env:"KUBECONFIG"`
	Context    string `yaml:"context" env:"CONTEXT"`
	HTTP       string `yaml:"http" env:"HTTP_ADDR"`
	LogLevel   string `yaml:"logLevel" env:"LOG_LEVEL"`
	Instance   string `yaml:"instance" env:"INSTANCE"`
	Slack      struct {
		// URL is the base of the Web API, empty for Slack itself.
		URL      string `yaml:"url" env:"URL"`
		BotToken secret `yaml:"botToken" env:"BOT_TOKEN"`
		AppToken secret `yaml:"appToken" env:"APP_TOKEN"`
	} `yaml:"slack" envPrefix:"SLACK_"`
}

// secret is a string that never prints itself.
type secret string

func (secret) String() string               { return "[redacted]" }
func (secret) GoString() string             { return "[redacted]" }
func (secret) MarshalText() ([]byte, error) { return []byte("[redacted]"), nil }
func (s secret) reveal() string             { return string(s) }

// UnmarshalText takes the value as it is.
func (s *secret) UnmarshalText(b []byte) error {
	*s = secret(strings.TrimSpace(string(b)))
	return nil
}

const envPrefix = "LABBOT_"

// loadConfig reads the file, if a path is given, and the environment over it.
func loadConfig(path string, environ map[string]string) (config, error) {
	c := config{Lang: "en", LogLevel: "info", HTTP: "127.0.0.1:8081"}
	if path != "" {
		if err := readConfig(path, &c); err != nil {
			return c, err
		}
	}
	withFiles, err := secretsFromFiles(environ)
	if err != nil {
		return c, err
	}
	if err := env.ParseWithOptions(&c, env.Options{Prefix: envPrefix, Environment: withFiles}); err != nil {
		return c, fmt.Errorf("environment: %w", err)
	}
	return c, nil
}

func readConfig(path string, c *config) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	defer f.Close()
	dec := yaml.NewDecoder(io.LimitReader(f, 1<<20))
	dec.KnownFields(true)
	if err := dec.Decode(c); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("configuration %s: %w", path, err)
	}
	return nil
}

// secretsFromFiles turns LABBOT_X_FILE=path into LABBOT_X=content.
func secretsFromFiles(environ map[string]string) (map[string]string, error) {
	out := map[string]string{}
	for k, v := range environ {
		out[k] = v
	}
	for k, path := range environ {
		name, isFile := strings.CutSuffix(k, "_FILE")
		if !isFile || !strings.HasPrefix(k, envPrefix) {
			continue
		}
		if environ[name] != "" {
			return nil, fmt.Errorf("%s and %s are both set: keep one", name, k)
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k, err)
		}
		out[name] = strings.TrimSpace(string(raw))
	}
	return out, nil
}

// check says all that is wrong at once.
func (c config) check() error {
	var bad []error
	need := func(ok bool, format string, args ...any) {
		if !ok {
			bad = append(bad, fmt.Errorf(format, args...))
		}
	}
	_, err := lab.ParseLang(c.Lang)
	need(err == nil, "LABBOT_LANG: %v", err)
	need(c.Redis != "", "LABBOT_REDIS_URL is empty: give redis://HOST:PORT/DB, where runs and scores are kept")
	need(strings.HasPrefix(string(c.Slack.BotToken), "xoxb-"), "LABBOT_SLACK_BOT_TOKEN: want the bot token, which begins with xoxb-")
	need(strings.HasPrefix(string(c.Slack.AppToken), "xapp-"), "LABBOT_SLACK_APP_TOKEN: want the app-level token with connections:write, which begins with xapp-")
	need(c.Slack.URL == "" || strings.HasSuffix(c.Slack.URL, "/"), "LABBOT_SLACK_URL: must end with a slash, for example http://127.0.0.1:8080/api/")
	return errors.Join(bad...)
}
