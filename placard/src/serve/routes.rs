//! What is where, and the headers that every answer bears.

use std::sync::Arc;

use acp_client::Hub;
use axum::Router;
use axum::body::Body;
use axum::extract::{Query, Request, State, WebSocketUpgrade};
use axum::http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY,
    SET_COOKIE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::{Next, from_fn_with_state, map_response};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde::Deserialize;

use super::assets;
use super::door::{Door, Refusal};
use super::socket;

/// Nothing is loaded from elsewhere, no page elsewhere may hold ours in a frame.
const CONTENT_POLICY: &str = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; \
     connect-src 'self'; script-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
/// Vite puts a hash of a file's content into the names of this folder.
const HASHED: &str = "assets/";

/// What the routes share.
#[derive(Debug, Clone)]
struct Served {
    hub: Hub,
    door: Arc<Door>,
}

/// The whole server.
pub(crate) fn router(hub: Hub, door: Arc<Door>) -> Router {
    let served = Served { hub, door };
    Router::new()
        .route("/", get(index))
        .route("/ws", get(attach))
        .fallback(get(file))
        .layer(from_fn_with_state(served.clone(), guard))
        .layer(map_response(with_headers))
        .with_state(served)
}

#[derive(Debug, Deserialize)]
struct Entrance {
    token: Option<String>,
}

/// Every request passes here: its host first, then the cookie. The token is for the index only.
async fn guard(
    State(served): State<Served>,
    Query(entrance): Query<Entrance>,
    request: Request,
    next: Next,
) -> Response {
    let headers = request.headers();
    if let Err(refusal) = served.door.check_host(headers) {
        return refused(refusal);
    }
    let known = served.door.check_cookie(headers);
    match (request.uri().path(), &entrance.token) {
        // Back to an address without the token: it should be in no history and on no screen.
        ("/", Some(_)) if known.is_ok() => see_index(None),
        // A look at the address, as programs take that show where a link goes, must not use it up.
        ("/", Some(_)) if request.method() != Method::GET => {
            (StatusCode::METHOD_NOT_ALLOWED, [(ALLOW, "GET")]).into_response()
        }
        ("/", Some(token)) => match served.door.spend(token) {
            Ok(cookie) => see_index(Some(&cookie)),
            Err(refusal) => refused(refusal),
        },
        _ => match known {
            Ok(()) => next.run(request).await,
            Err(refusal) => refused(refusal),
        },
    }
}

async fn index() -> Response {
    match assets::asset("index.html") {
        Some(page) => content(page, "no-store"),
        None => notice(
            StatusCode::SERVICE_UNAVAILABLE,
            "The page is not in this program",
            "It was built before its page was. To have both, in the repository: \
             <code>npm --prefix ui ci &amp;&amp; npm --prefix ui run build</code>, then build placard again.",
        ),
    }
}

async fn file(uri: Uri) -> Response {
    let path = uri.path().trim_start_matches('/');
    let cache = if path.starts_with(HASHED) {
        "private, max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    match assets::asset(path) {
        Some(file) => content(file, cache),
        None => notice(
            StatusCode::NOT_FOUND,
            "Nothing is here",
            "The chat is at <a href=\"/\">/</a>.",
        ),
    }
}

async fn attach(
    State(served): State<Served>,
    headers: axum::http::HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    if let Err(refusal) = served.door.check_origin(&headers) {
        return refused(refusal);
    }
    socket::upgrade(upgrade, served.hub)
}

fn see_index(cookie: Option<&str>) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    let headers = response.headers_mut();
    headers.insert(LOCATION, HeaderValue::from_static("/"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(cookie) = cookie.and_then(|cookie| HeaderValue::from_str(cookie).ok()) {
        headers.insert(SET_COOKIE, cookie);
    }
    response
}

fn content(asset: assets::Asset, cache: &'static str) -> Response {
    let headers: [(HeaderName, String); 2] = [
        (CONTENT_TYPE, asset.media_type),
        (CACHE_CONTROL, cache.to_owned()),
    ];
    (headers, Body::from(asset.bytes.into_owned())).into_response()
}

fn refused(refusal: Refusal) -> Response {
    match refusal {
        Refusal::Stranger => notice(
            StatusCode::FORBIDDEN,
            "This address opens once",
            "The address that placard printed has been opened before, or this browser has never opened it. \
             If this is the browser that did, <a href=\"/\">the chat is here</a>; otherwise end \
             <code>placard serve</code> and start it again for a new address.",
        ),
        Refusal::Host => notice(
            StatusCode::FORBIDDEN,
            "Wrong address",
            "This server answers to the address that placard printed, and to no other name.",
        ),
        Refusal::Origin => notice(
            StatusCode::FORBIDDEN,
            "Only for the chat's own page",
            "This is where the page reaches the agent; other pages may not.",
        ),
    }
}

fn notice(status: StatusCode, title: &str, text: &str) -> Response {
    let page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>{title}</title>\
         <style>body{{font:16px/1.5 system-ui,sans-serif;max-width:36em;margin:4em auto;padding:0 1em;\
         color-scheme:light dark}}</style><h1>{title}</h1><p>{text}</p></html>\n"
    );
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CACHE_CONTROL, "no-store"),
    ];
    (status, headers, page).into_response()
}

async fn with_headers(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(
        CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(CONTENT_POLICY),
    );
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}
