//! The scripted model server as any client sees it, byte by byte.

#![allow(
    clippy::unwrap_used,
    reason = "the helpers of a test fail it as its body does"
)]

use inspector::{Answer, Failure, Gate, ModelServer, RecordedRequest, Script, Step};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

fn host(server: &ModelServer) -> String {
    server
        .anthropic_base_url()
        .trim_start_matches("http://")
        .to_owned()
}

/// Sends a request and leaves the answer to be read.
async fn send(server: &ModelServer, path: &str, headers: &str, body: &str) -> TcpStream {
    let mut connection = TcpStream::connect(host(server)).await.unwrap();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: model\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    connection.write_all(request.as_bytes()).await.unwrap();
    connection
}

/// The status and JSON body of the answer.
async fn ask(server: &ModelServer, path: &str, headers: &str, body: &Value) -> (u16, Value) {
    let mut connection = send(server, path, headers, &body.to_string()).await;
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap())
}

fn prompt() -> Value {
    json!({ "model": "m", "messages": [{ "role": "user", "content": "Hello" }] })
}

fn message(body: &Value) -> &str {
    body["error"]["message"].as_str().unwrap()
}

const OPENAI: &str = "/v1/chat/completions";
const ANTHROPIC: &str = "/v1/messages";
const VERSION: &str = "anthropic-version: 2023-06-01\r\n";

#[tokio::test]
async fn one_script_serves_both_formats_step_by_step() {
    let script = Script::new()
        .then(Answer::new().text(["one"]))
        .then(Answer::new().text(["two"]))
        .then(Failure::new(529, "busy"));
    let server = ModelServer::start(script).unwrap();
    let mut with_limit = prompt();
    with_limit["max_tokens"] = json!(5);

    let (status, body) = ask(&server, OPENAI, "", &prompt()).await;
    assert_eq!(
        (status, &body["choices"][0]["message"]["content"]),
        (200, &json!("one"))
    );
    let (status, body) = ask(&server, ANTHROPIC, VERSION, &with_limit).await;
    assert_eq!(
        (status, &body["content"]),
        (200, &json!([{ "type": "text", "text": "two" }]))
    );
    let (status, body) = ask(&server, ANTHROPIC, VERSION, &with_limit).await;
    let busy =
        json!({ "type": "error", "error": { "type": "overloaded_error", "message": "busy" } });
    assert_eq!((status, body), (529, busy));
    let (status, body) = ask(&server, OPENAI, "", &prompt()).await;
    assert_eq!(
        (status, message(&body)),
        (500, "the script has no step for this request")
    );
}

#[tokio::test]
async fn a_refused_request_takes_no_step_and_is_recorded_without_its_key() {
    let server = ModelServer::start(
        Script::new()
            .then(Answer::new().text(["one"]))
            .with_key("right"),
    )
    .unwrap();
    let wrong = "authorization: Bearer wrong\r\n";
    let right = "authorization: Bearer right\r\n";
    let (status, body) = ask(&server, OPENAI, wrong, &prompt()).await;
    assert_eq!((status, message(&body)), (401, "the API key is not valid"));
    let (status, body) = ask(&server, OPENAI, right, &json!({ "model": "m" })).await;
    assert_eq!(
        (status, message(&body)),
        (400, "messages: a list that is not empty is expected")
    );
    let (status, body) = ask(&server, "/v1/embeddings?x=1", right, &json!({})).await;
    assert_eq!(
        (status, message(&body)),
        (404, "nothing is served at /v1/embeddings")
    );
    let (status, body) = ask(&server, ANTHROPIC, "x-api-key: right\r\n", &prompt()).await;
    assert_eq!(
        (status, message(&body)),
        (400, "anthropic-version: this header is required")
    );
    let (status, _) = ask(&server, OPENAI, right, &prompt()).await;
    assert_eq!(status, 200);

    let request = |path: &str, key: &str, body: Value| {
        let length = body.to_string().len().to_string();
        let headers = [
            ("connection", "close"),
            ("content-length", &length),
            ("host", "model"),
            (key, "(present)"),
        ];
        let headers = headers
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        RecordedRequest {
            path: path.to_owned(),
            headers,
            body,
        }
    };
    assert_eq!(
        server.wait_for_requests(5).await,
        [
            request(OPENAI, "authorization", prompt()),
            request(OPENAI, "authorization", json!({ "model": "m" })),
            request("/v1/embeddings?x=1", "authorization", json!({})),
            request(ANTHROPIC, "x-api-key", prompt()),
            request(OPENAI, "authorization", prompt()),
        ]
    );
}

#[tokio::test]
async fn a_gate_holds_the_rest_back_and_the_end_of_the_server_cuts_it() {
    let gate = Gate::new();
    let step = || Answer::new().text(["before"]).hold(&gate).text(["after"]);
    let server = ModelServer::start(Script::new().then(step()).then(step())).unwrap();
    let mut body = prompt();
    body["stream"] = json!(true);
    let body = body.to_string();

    let mut held = send(&server, OPENAI, "", &body).await;
    let mut so_far = String::new();
    while !so_far.contains("before") {
        let mut bytes = [0; 4096];
        let count = held.read(&mut bytes).await.unwrap();
        assert_ne!(count, 0, "the answer ended before the gate");
        so_far.push_str(std::str::from_utf8(&bytes[..count]).unwrap());
    }
    gate.reached().await;
    assert!(!so_far.contains("after"), "{so_far}");

    let mut hanging = send(&server, OPENAI, "", &body).await;
    server.wait_for_requests(2).await;
    drop(server);
    // Both connections end although nobody opened the gate.
    held.read_to_string(&mut so_far).await.unwrap();
    assert!(!so_far.contains("[DONE]"), "{so_far}");
    hanging.read_to_string(&mut so_far).await.unwrap();
    assert!(!so_far.contains("[DONE]"), "{so_far}");
}

#[tokio::test]
async fn a_hanging_request_ends_with_the_server() {
    let server = ModelServer::start(Script::new().otherwise(Step::Hang)).unwrap();
    let mut hanging = send(&server, OPENAI, "", &prompt().to_string()).await;
    server.wait_for_requests(1).await;
    drop(server);
    let mut answer = String::new();
    hanging.read_to_string(&mut answer).await.unwrap();
    assert!(answer.contains("the server ends"), "{answer}");
}
