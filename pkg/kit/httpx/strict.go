package httpx

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/weirhq/weir/pkg/kernel/fault"
)

// StrictHooks has the fields of every generated StrictGinServerOptions, so that one
// converts into the other.
type StrictHooks struct {
	RequestErrorHandlerFunc  func(ctx *gin.Context, err error)
	HandlerErrorFunc         func(ctx *gin.Context, err error)
	ResponseErrorHandlerFunc func(ctx *gin.Context, err error)
}

// StrictOptions makes every error of a generated strict handler a problem.
func StrictOptions() StrictHooks {
	return StrictHooks{
		RequestErrorHandlerFunc:  func(c *gin.Context, err error) { fail(c, bodyFault(err)) },
		HandlerErrorFunc:         fail,
		ResponseErrorHandlerFunc: func(c *gin.Context, err error) { fail(c, fmt.Errorf("write answer: %w", err)) },
	}
}

// BindError makes a parameter that the generated code cannot read a problem. The guard
// has looked at parameters before; this is what it let through.
func BindError(c *gin.Context, err error, _ int) {
	name := "request"
	if _, after, ok := strings.Cut(err.Error(), "parameter "); ok {
		name, _, _ = strings.Cut(after, ":")
		name = strings.Fields(name + " request")[0]
	}
	f := fault.InvalidField(name, "does not have the right form")
	f.Cause = err
	fail(c, f)
}

// bodyFault is for bodies that satisfy the document but not the Go type: a whole number
// beyond 64 bits, a date that does not exist.
func bodyFault(err error) error {
	var f *fault.Error
	if errors.As(err, &f) {
		return f
	}
	f = fault.InvalidField("body", "cannot be read as described")
	var t *json.UnmarshalTypeError
	if errors.As(err, &t) && t.Field != "" {
		f = fault.InvalidField(t.Field, "is out of range or of the wrong type")
	}
	f.Cause = err
	return f
}
