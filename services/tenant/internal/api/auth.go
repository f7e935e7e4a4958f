package api

import (
	"context"

	"github.com/weirhq/weir/pkg/kernel/fault"
	"github.com/weirhq/weir/services/tenant/internal/api/publicgen"
	"github.com/weirhq/weir/services/tenant/internal/app"
	"github.com/weirhq/weir/services/tenant/internal/domain"
)

func (h handlers) SignUp(ctx context.Context, r publicgen.SignUpRequestObject) (publicgen.SignUpResponseObject, error) {
	in := domain.SignUp{Email: r.Body.Email, Password: r.Body.Password, Name: r.Body.Name, OrgName: r.Body.OrgName, Currency: opt(r.Body.Currency)}
	l, err := h.app.SignUp(ctx, in)
	if err != nil {
		return nil, err
	}
	return publicgen.SignUp201JSONResponse(wireLogin(l)), nil
}

func (h handlers) LogIn(ctx context.Context, r publicgen.LogInRequestObject) (publicgen.LogInResponseObject, error) {
	if r.Params.Session != nil {
		return nil, fault.InvalidField("session", "is not built yet: only tokens are")
	}
	l, err := h.app.LogIn(ctx, domain.LogIn{Email: r.Body.Email, Password: r.Body.Password, Address: addressFrom(ctx)})
	if err != nil {
		return nil, err
	}
	return publicgen.LogIn200JSONResponse(wireLogin(l)), nil
}

func (h handlers) RefreshSession(ctx context.Context, r publicgen.RefreshSessionRequestObject) (publicgen.RefreshSessionResponseObject, error) {
	t, err := h.app.Refresh(ctx, r.Body.RefreshToken)
	if err != nil {
		return nil, err
	}
	return publicgen.RefreshSession200JSONResponse{
		AccessToken: t.Access, RefreshToken: t.Refresh, ExpiresIn: int(t.ExpiresIn.Seconds()), TokenType: publicgen.TokensTokenTypeBearer,
	}, nil
}

func (h handlers) LogOut(ctx context.Context, _ publicgen.LogOutRequestObject) (publicgen.LogOutResponseObject, error) {
	return publicgen.LogOut204Response{}, h.app.LogOut(ctx)
}

func (h handlers) GetMe(ctx context.Context, _ publicgen.GetMeRequestObject) (publicgen.GetMeResponseObject, error) {
	m, err := h.app.Me(ctx)
	if err != nil {
		return nil, err
	}
	return publicgen.GetMe200JSONResponse(wireMe(m)), nil
}

func wireLogin(l app.Login) publicgen.Login {
	w := publicgen.Login{
		User: wireUser(l.Account), AccessToken: l.Tokens.Access, RefreshToken: l.Tokens.Refresh,
		ExpiresIn: int(l.Tokens.ExpiresIn.Seconds()), TokenType: publicgen.LoginTokenTypeBearer,
	}
	if l.Org != nil {
		org, project := wireOrg(*l.Org), wireProject(*l.Project)
		w.Org, w.Project = &org, &project
	}
	return w
}

func wireUser(a domain.Account) publicgen.User {
	return publicgen.User{ID: a.ID, Email: a.Email, Name: a.Name, Operator: a.Operator, CreatedAt: a.CreatedAt}
}

func wireMe(m app.Me) publicgen.Me {
	w := publicgen.Me{
		ID: m.Actor.ID, Kind: publicgen.MeKind(m.Actor.Kind), Operator: m.Actor.Operator, Project: ptr(m.Actor.Project), Role: ptr(publicgen.Role(m.Actor.Role)),
	}
	if m.Account != nil {
		user := wireUser(*m.Account)
		w.User = &user
	}
	if m.Key != nil {
		key := wireKey(*m.Key)
		w.APIKey = &key
	}
	if m.Org != nil {
		org, limits := wireOrg(*m.Org), wireLimits(*m.Limits)
		w.Org, w.Limits = &org, &limits
	}
	return w
}
