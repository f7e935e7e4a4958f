package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/services/allocator/internal/domain"
)

// process decides a batch, makes it durable and answers everybody in it. An error ends the
// term: then everybody was answered too.
func (w *Writer) process(ctx context.Context, epoch int64, ops []*op) error {
	var changes []*op
	for _, o := range ops {
		if o.look != nil {
			o.look(w.mem)
			o.done <- nil
			continue
		}
		changes = append(changes, o)
	}
	if len(changes) == 0 {
		return nil
	}
	err := w.settle(ctx, epoch, changes)
	if err != nil {
		for _, o := range changes {
			select {
			case o.done <- w.lostTerm(err):
			default: // answered
			}
		}
	}
	return err
}

// lostTerm is what callers are told when the term ends under their request. A request with
// a key may be repeated with it, whatever became of it.
func (w *Writer) lostTerm(cause error) error {
	f := fault.Wrap(fault.Unavailable, "The allocator could not finish this. Retry it with the same Idempotency-Key.", cause)
	f.RetryAfter = time.Second
	return f
}

// settle plans and commits the operations; a batch that the database refuses is split until
// the guilty one stands alone.
func (w *Writer) settle(ctx context.Context, epoch int64, ops []*op) error {
	p := w.newPlan()
	for _, o := range ops {
		o.err = o.plan(p)
	}
	if !p.finish() {
		answer(ops)
		return nil
	}
	err := w.deps.Ledger.Commit(ctx, epoch, &p.b)
	if errors.Is(err, domain.ErrUnknownCommit) {
		err = w.resolve(ctx, epoch, &p.b, err)
	}
	var v *domain.Violation
	switch {
	case err == nil:
		p.keep()
		w.views.publish(p)
		if w.deps.Committed != nil && len(p.b.Items) > 0 {
			w.deps.Committed()
		}
		answer(ops)
		return nil
	case errors.As(err, &v):
		w.deps.Log.ErrorContext(ctx, "the database refused a batch", "constraint", v.Constraint, "operations", len(ops), "err", v.Cause)
	case errors.Is(err, domain.ErrDrift), errors.Is(err, errNotIn):
		w.deps.Log.ErrorContext(ctx, "a batch was not written", "operations", len(ops), "err", err)
	default:
		return err
	}
	return w.again(ctx, epoch, ops, err)
}

// errNotIn says that the batch whose commit broke was not written.
var errNotIn = errors.New("the batch whose commit broke is not in")

// again plans from what the database holds. One operation that fails twice is refused.
func (w *Writer) again(ctx context.Context, epoch int64, ops []*op, cause error) error {
	img, err := w.deps.Ledger.Load(ctx)
	if err != nil {
		return err
	}
	if err := w.install(img); err != nil {
		return err
	}
	if len(ops) == 1 {
		o := ops[0]
		if o.tries > 0 {
			o.done <- refusal(cause)
			return nil
		}
		o.tries++
		return w.settle(ctx, epoch, ops)
	}
	half := len(ops) / 2
	if err := w.settle(ctx, epoch, ops[:half]); err != nil {
		return err
	}
	return w.settle(ctx, epoch, ops[half:])
}

// refusal is what the guilty operation is told.
func refusal(cause error) error {
	var v *domain.Violation
	if errors.As(cause, &v) {
		switch v.Constraint {
		case "idempotency_pkey":
			return errKeyUsed
		case "seat_overlap", "seat_one_kind", "node_usage_vcpus", "node_usage_ram":
			return fault.Wrap(fault.Conflict, "The place was taken meanwhile. Retry.", cause)
		}
	}
	return fmt.Errorf("decide: %w", cause)
}

// errKeyUsed asks the caller to look its idempotency key up again.
var errKeyUsed = errors.New("the idempotency key was used meanwhile")

// resolve learns what became of a batch whose commit broke.
func (w *Writer) resolve(ctx context.Context, epoch int64, b *domain.Batch, cause error) error {
	committed, err := w.deps.Ledger.Outcome(ctx, epoch, b.No)
	switch {
	case err != nil:
		return errors.Join(err, cause)
	case committed:
		return nil
	}
	return errNotIn
}

func answer(ops []*op) {
	for _, o := range ops {
		o.done <- o.err
	}
}
