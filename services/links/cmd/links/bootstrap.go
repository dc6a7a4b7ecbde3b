package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/linkstream/linkstream/services/internal/config"
	"github.com/linkstream/linkstream/services/links/internal/account"
	"github.com/linkstream/linkstream/services/links/internal/keyring"
	"github.com/linkstream/linkstream/services/links/internal/link"
	"github.com/linkstream/linkstream/services/links/internal/password"
	"github.com/linkstream/linkstream/services/links/internal/postgres"
)

const aboutBootstrap = `links bootstrap --workspace NAME --email E --domain HOST

Makes a workspace, the default domain, the owner user and an API key with all
scopes, and prints them as one JSON object. Run again it adds what is missing and
leaves the rest: password and key are printed only when they were given or are new.
With another NAME and the same email the owner has both workspaces, and switches
between them in the dashboard. An account that a workspace made for the email is
never added to: the owner joins it with the others in the dashboard.`

// bootstrapTimeout bounds the whole command.
const bootstrapTimeout = 30 * time.Second

type bootstrapSettings struct {
	PostgresURL string   `env:"POSTGRES_URL,required" help:"postgres://user:password@host:port/database"`
	Password    string   `env:"BOOTSTRAP_PASSWORD" help:"the owner's password, 8 bytes at least; made up when not set"`
	TokenPepper string   `env:"TOKEN_PEPPER,required" help:"the service's own TOKEN_PEPPER: the API key is hashed under it"`
	OldPeppers  []string `env:"TOKEN_PEPPER_PREVIOUS" help:"the service's own, under which a key that is given may be stored already; comma separated"`
	APIKey      string   `env:"BOOTSTRAP_API_KEY" help:"the API key, ls_key_ and 32 characters at least; made up when not set"`
}

// Validate implements config.Validator.
func (s bootstrapSettings) Validate() error {
	if s.PostgresURL != "" && postgres.CheckURL(s.PostgresURL) != nil {
		return errors.New(config.Prefix + "POSTGRES_URL must be a URL, for instance postgres://user:password@127.0.0.1:5432/linkstream")
	}
	if s.TokenPepper != "" {
		if _, err := keyring.New(s.TokenPepper, s.OldPeppers...); err != nil {
			return fmt.Errorf("%sTOKEN_PEPPER: %w", config.Prefix, err)
		}
	}
	return nil
}

func bootstrap(ctx context.Context, environ, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("bootstrap", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	var (
		first  account.First
		domain string
	)
	flags.StringVar(&first.Workspace, "workspace", "", "name of the workspace")
	flags.StringVar(&first.Email, "email", "", "email of its owner")
	flags.StringVar(&domain, "domain", "", "host of the default domain")
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		args = []string{"--help"}
	case err != nil:
		return fmt.Errorf("reading the arguments: %w", err)
	default:
		args = flags.Args()
	}
	s, err := config.Parse[bootstrapSettings](aboutBootstrap, environ, args, stdout)
	if err != nil {
		return err
	}
	first.Domain, _ = link.ParseHost(domain) // "" when it is none, which Validate refuses
	first.Password, first.APIKey = s.Password, s.APIKey
	if err := first.Validate(); err != nil {
		return fmt.Errorf("these arguments are wrong (see --help):\n%w", err)
	}

	keys, err := keyring.New(s.TokenPepper, s.OldPeppers...)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, bootstrapTimeout)
	defer cancel()
	pool, err := postgres.Open(ctx, s.PostgresURL, 1)
	if err != nil {
		return err
	}
	defer pool.Close()
	store := postgres.New(pool, first.Domain, 0)
	made, err := account.Bootstrap(ctx, store, keys, password.ForUsers(), first)
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(made)
}
