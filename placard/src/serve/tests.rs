//! The server over real sockets: who comes in, what each answer bears, and a page's whole way.

use std::fmt::Write;
use std::sync::Arc;

use acp_client::{AgentSource, Hub, HubSettings};
use axum::http::HeaderValue;
use futures::{SinkExt, StreamExt};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};

use super::{assets, door::Door, routes};

/// A server with an agent that answers everything with its own method.
struct Served {
    hub: Hub,
    address: String,
    token: String,
}

/// An answer over HTTP.
struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }
}

impl Served {
    async fn start() -> Self {
        let source = AgentSource::embedded("echo", |stream| async move {
            let (input, mut output) = tokio::io::split(stream);
            let mut lines = tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(input));
            while let Ok(Some(line)) = lines.next_line().await {
                let message: Value = serde_json::from_str(&line).unwrap_or_default();
                let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": {"method": message["method"]}});
                let _ = output.write_all(format!("{answer}\n").as_bytes()).await;
            }
            Ok(())
        });
        let hub = Hub::start(HubSettings::new(source, "/work", std::env::temp_dir()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (door, token) = Door::new(port);
        let server = axum::serve(listener, routes::router(hub.clone(), Arc::new(door)));
        tokio::spawn(server.into_future());
        Self {
            hub,
            address: format!("127.0.0.1:{port}"),
            token,
        }
    }

    async fn get(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.ask("GET", path, headers).await
    }

    async fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        let host = headers
            .iter()
            .find(|(name, _)| *name == "Host")
            .map_or(&*self.address, |(_, host)| host);
        let mut request =
            format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n");
        for (name, value) in headers.iter().filter(|(name, _)| *name != "Host") {
            let _ = write!(request, "{name}: {value}\r\n");
        }
        request.push_str("\r\n");
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let mut lines = head.lines();
        let status = lines
            .next()
            .unwrap()
            .split(' ')
            .nth(1)
            .unwrap()
            .parse()
            .unwrap();
        let headers = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        Answer {
            status,
            headers,
            body: body.to_owned(),
        }
    }

    /// Spends the token: the cookie to send from then on.
    async fn cookie(&self) -> String {
        let answer = self.get(&format!("/?token={}", self.token), &[]).await;
        assert_eq!((answer.status, answer.header("location")), (303, Some("/")));
        answer
            .header("set-cookie")
            .unwrap()
            .split(';')
            .next()
            .unwrap()
            .to_owned()
    }

    async fn socket(
        &self,
        origin: Option<&str>,
        cookie: Option<&str>,
    ) -> Result<tokio_tungstenite::WebSocketStream<TcpStream>, u16> {
        let mut request = format!("ws://{}/ws", self.address)
            .into_client_request()
            .unwrap();
        let headers = request.headers_mut();
        if let Some(origin) = origin {
            headers.insert("origin", HeaderValue::from_str(origin).unwrap());
        }
        if let Some(cookie) = cookie {
            headers.insert("cookie", HeaderValue::from_str(cookie).unwrap());
        }
        let stream = TcpStream::connect(&self.address).await.unwrap();
        match client_async(request, stream).await {
            Ok((socket, _)) => Ok(socket),
            Err(Error::Http(answer)) => Err(answer.status().as_u16()),
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test]
async fn only_the_token_then_only_its_cookie_opens() {
    let served = Served::start().await;
    let with_token = format!("/?token={}", served.token);
    assert_eq!(served.get("/", &[]).await.status, 403);
    assert_eq!(served.get("/?token=guess", &[]).await.status, 403);
    // The token opens nothing but the index.
    assert_eq!(
        served
            .get(&format!("/other?token={}", served.token), &[])
            .await
            .status,
        403
    );
    let cookie = served.cookie().await;
    assert_eq!(
        served.get(&with_token, &[]).await.status,
        403,
        "the token is spent"
    );
    let known = [("Cookie", cookie.as_str())];
    assert_eq!(served.get(&with_token, &known).await.status, 303);
    let index = if assets::are_there() { 200 } else { 503 };
    assert_eq!(served.get("/", &known).await.status, index);
    assert_eq!(served.get("/nothing/here", &known).await.status, 404);
    assert_eq!(served.get("/nothing/here", &[]).await.status, 403);
    let elsewhere = [known[0], ("Host", "evil.example")];
    assert_eq!(served.get("/", &elsewhere).await.status, 403);
    served.hub.shutdown().await;
}

#[tokio::test]
async fn a_foreign_name_does_not_spend_the_token() {
    let served = Served::start().await;
    let with_token = format!("/?token={}", served.token);
    assert_eq!(
        served
            .get(&with_token, &[("Host", "evil.example")])
            .await
            .status,
        403
    );
    served.cookie().await;
    served.hub.shutdown().await;
}

#[tokio::test]
async fn only_get_spends_the_token() {
    let served = Served::start().await;
    let with_token = format!("/?token={}", served.token);
    for method in ["HEAD", "POST", "OPTIONS"] {
        let answer = served.ask(method, &with_token, &[]).await;
        assert_eq!(
            (
                answer.status,
                answer.header("allow"),
                answer.header("set-cookie")
            ),
            (405, Some("GET"), None),
            "{method}"
        );
    }
    served.cookie().await;
    served.hub.shutdown().await;
}

#[tokio::test]
async fn every_answer_bears_the_headers() {
    let served = Served::start().await;
    let cookie = served.cookie().await;
    let known = [("Cookie", cookie.as_str())];
    let policy = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; \
                  connect-src 'self'; script-src 'self'; frame-ancestors 'none'; base-uri 'none'; \
                  form-action 'none'";
    for answer in [
        served.get("/", &known).await,
        served.get("/missing", &known).await,
        served.get("/", &[]).await,
        served.get("/", &[("Host", "evil.example")]).await,
    ] {
        let names = [
            "content-security-policy",
            "x-content-type-options",
            "referrer-policy",
        ];
        assert_eq!(
            names.map(|name| answer.header(name)),
            [Some(policy), Some("nosniff"), Some("no-referrer")]
        );
        assert_eq!(
            answer
                .header("cache-control")
                .map(|cache| cache == "no-store"),
            Some(true)
        );
    }
    served.hub.shutdown().await;
}

#[tokio::test]
async fn a_program_without_its_page_says_how_to_build_it() {
    let served = Served::start().await;
    let cookie = served.cookie().await;
    let index = served.get("/", &[("Cookie", &cookie)]).await;
    let says_how = index.body.contains("npm --prefix ui run build");
    assert_eq!(says_how, !assets::are_there());
    served.hub.shutdown().await;
}

#[tokio::test]
async fn the_socket_is_for_the_servers_own_page_with_the_cookie() {
    let served = Served::start().await;
    let cookie = served.cookie().await;
    let own = format!("http://{}", served.address);
    let outcome = async |origin, cookie| served.socket(origin, cookie).await.err();
    assert_eq!(outcome(Some(&own), None).await, Some(403));
    assert_eq!(outcome(Some(&own), Some("placard_1=x")).await, Some(403));
    assert_eq!(outcome(None, Some(&cookie)).await, Some(403));
    assert_eq!(
        outcome(Some("http://evil.example"), Some(&cookie)).await,
        Some(403)
    );
    assert_eq!(outcome(Some(&own), Some(&cookie)).await, None);
    served.hub.shutdown().await;
}

#[tokio::test]
async fn a_page_talks_to_the_agent_over_the_socket() {
    let served = Served::start().await;
    let cookie = served.cookie().await;
    let own = format!("http://{}", served.address);
    let mut socket = served.socket(Some(&own), Some(&cookie)).await.unwrap();
    for envelope in [
        json!({"type": "attach", "after": 0}),
        json!({"type": "frame", "frame": {"jsonrpc": "2.0", "id": "a", "method": "hello"}}),
    ] {
        socket
            .send(Message::text(envelope.to_string()))
            .await
            .unwrap();
    }
    let mut answer = Value::Null;
    while answer.is_null() {
        let message = socket.next().await.unwrap().unwrap();
        let envelope: Value = serde_json::from_str(message.to_text().unwrap()).unwrap();
        for frame in envelope["frames"].as_array().into_iter().flatten() {
            if frame["dir"] == "a2c" && frame["own"] == true {
                answer = frame["frame"].clone();
            }
        }
    }
    assert_eq!(
        answer,
        json!({"jsonrpc": "2.0", "id": "a", "result": {"method": "hello"}})
    );

    socket.send(Message::text("nonsense")).await.unwrap();
    let mut close = None;
    while let Some(Ok(message)) = socket.next().await {
        if let Message::Close(Some(frame)) = message {
            close = Some((u16::from(frame.code), frame.reason.to_string()));
        }
    }
    let reason =
        "this message is not understood: it is no envelope: expected ident at line 1 column 2";
    assert_eq!(close, Some((1008, reason.to_owned())));
    served.hub.shutdown().await;
}

#[tokio::test]
async fn a_hub_that_ends_closes_its_sockets() {
    let served = Served::start().await;
    let cookie = served.cookie().await;
    let own = format!("http://{}", served.address);
    let mut socket = served.socket(Some(&own), Some(&cookie)).await.unwrap();
    served.hub.shutdown().await;
    let mut code = None;
    while let Some(Ok(message)) = socket.next().await {
        if let Message::Close(Some(frame)) = message {
            code = Some(u16::from(frame.code));
        }
    }
    assert_eq!(code, Some(1001));
}
