package up

import (
	"fmt"
	"os"
	"path/filepath"
)

// The accounts a newcomer starts with.
const (
	adminEmail = "admin@weir.local"
	demoEmail  = "demo@weir.local"
)

// account is one of them, with the password in plain: it is printed once the product runs.
type account struct {
	email, password string
	given           bool // by the environment: it replaces the stored one
}

type accounts struct{ admin, demo account }

// loadAccounts takes the passwords from the environment, or makes them at the first start
// and keeps them among the secrets, so that every start can print them.
func loadAccounts(dir *dataDir) (accounts, error) {
	admin, err := loadAccount(dir, adminEmail, "WEIR_ADMIN_PASSWORD", "password.admin")
	if err != nil {
		return accounts{}, err
	}
	demo, err := loadAccount(dir, demoEmail, "WEIR_DEMO_PASSWORD", "password.demo")
	return accounts{admin, demo}, err
}

func loadAccount(dir *dataDir, email, env, secret string) (account, error) {
	if p := os.Getenv(env); p != "" {
		if len(p) < 10 {
			return account{}, fmt.Errorf("%s must have at least 10 characters", env)
		}
		// Kept like a generated one, for the start that comes without it.
		return account{email, p, true}, dir.write(filepath.Join("secrets", secret), p+"\n")
	}
	p, err := dir.secret(secret)
	return account{email: email, password: p}, err
}
