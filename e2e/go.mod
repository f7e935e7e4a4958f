module github.com/weirhq/weir/e2e

go 1.26

require (
	github.com/getkin/kin-openapi v0.153.0 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/jackc/pgx/v5 v5.13.0 // indirect
	github.com/stretchr/testify v1.12.1 // indirect
	golang.org/x/text v0.41.0 // indirect
	pgregory.net/rapid v1.3.0 // indirect
)

require github.com/weirhq/weir/pkg v0.0.0

replace github.com/weirhq/weir/pkg => ../pkg

require github.com/weirhq/weir/db v0.0.0

replace github.com/weirhq/weir/db => ../db
