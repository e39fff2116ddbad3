//! What is asked of providers.

use std::path::PathBuf;

use agent_core::Surroundings;
use agent_core::config::Config;
use agent_core::model::{self, Message, ModelRequest, ToolResultMessage, ToolSchema};
use inspector::{Answer, ModelServer, Script};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{
    KEY, WIRES, Wire, called, everything, hello, miscalled, more_text, open, said, thought, user,
};

fn ok() -> Answer {
    Answer::new().text(["ok"])
}

fn result(id: &str, content: &str, is_error: bool) -> ToolResultMessage {
    ToolResultMessage {
        provider_id: id.to_owned(),
        content: content.to_owned(),
        is_error,
    }
}

/// A turn that has come to its second step, after one that ended without an answer.
fn second_step() -> ModelRequest {
    ModelRequest {
        system: "You work in /work.".to_owned(),
        messages: vec![
            user("First?"),
            Message::Assistant { blocks: Vec::new() },
            user("List it."),
            Message::Assistant {
                blocks: vec![
                    thought("I need ls.", &["c2ln"]),
                    said("I look."),
                    called("call_1", "bash", json!({"command": "ls"})),
                    miscalled("call_2", "bash", r#"{"comm"#),
                ],
            },
            Message::ToolResults {
                results: vec![
                    result("call_1", "a.txt\n[exit 0]", false),
                    result("call_2", "The arguments are no JSON object.", true),
                ],
            },
        ],
        tools: vec![ToolSchema {
            name: "bash".to_owned(),
            description: "Runs a command.".to_owned(),
            parameters: json!({"type": "object", "properties": {"command": {"type": "string"}}}),
        }],
    }
}

async fn body_of(
    name: &str,
    variables: &[(&str, &str)],
    server: &ModelServer,
    request: ModelRequest,
) -> Value {
    let model = open(name, variables).unwrap();
    let answer = everything(&*model, request).await;
    assert_eq!(answer.first(), Some(&more_text("ok")), "{name}");
    server.requests().pop().unwrap().body
}

#[tokio::test]
async fn the_second_step_in_openai_s_words() {
    let server = ModelServer::start(Script::new().otherwise(ok())).unwrap();
    let address = server.openai_base_url();
    let variables = [
        ("DEEPSEEK_BASE_URL", address.as_str()),
        ("DEEPSEEK_API_KEY", KEY),
    ];
    let body = body_of("deepseek/deepseek-chat", &variables, &server, second_step()).await;
    let expected = json!({
        "model": "deepseek-chat",
        "stream": true,
        "tools": [{
            "type": "function",
            "function": {
                "name": "bash",
                "description": "Runs a command.",
                "parameters": {"type": "object", "properties": {"command": {"type": "string"}}},
                "strict": false,
            },
        }],
        "messages": [
            {"role": "system", "content": "You work in /work."},
            {"role": "user", "content": "First?\n\nList it."},
            {
                "role": "assistant",
                "content": "I look.",
                "tool_calls": [
                    {"type": "function", "id": "call_1", "function": {"name": "bash", "arguments": r#"{"command":"ls"}"#}},
                    {
                        "type": "function",
                        "id": "call_2",
                        "function": {"name": "bash", "arguments": r#"{"malformed_arguments":"{\"comm"}"#},
                    },
                ],
                "reasoning_content": "I need ls.",
            },
            {"role": "tool", "content": "a.txt\n[exit 0]", "tool_call_id": "call_1"},
            {"role": "tool", "content": "The arguments are no JSON object.", "tool_call_id": "call_2"},
        ],
        "stream_options": {"include_usage": true},
    });
    assert_eq!(body, expected);

    // OpenAI itself knows no such field.
    let variables = [
        ("OPENAI_BASE_URL", address.as_str()),
        ("OPENAI_API_KEY", KEY),
    ];
    let body = body_of("openai/gpt-test", &variables, &server, second_step()).await;
    let mut expected = expected;
    expected["model"] = json!("gpt-test");
    expected["messages"][2]
        .as_object_mut()
        .unwrap()
        .remove("reasoning_content");
    assert_eq!(body, expected);
}

#[tokio::test]
async fn the_second_step_in_anthropic_s_words() {
    let server = ModelServer::start(Script::new().otherwise(ok())).unwrap();
    let address = server.anthropic_base_url();
    let variables = [
        ("ANTHROPIC_BASE_URL", address.as_str()),
        ("ANTHROPIC_API_KEY", KEY),
    ];
    let body = body_of("anthropic/claude-test", &variables, &server, second_step()).await;
    let expected = json!({
        "model": "claude-test",
        "stream": true,
        "system": "You work in /work.",
        "tools": [{
            "name": "bash",
            "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}},
            "description": "Runs a command.",
        }],
        "messages": [
            {"role": "user", "content": "First?\n\nList it."},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "I need ls.", "signature": "c2ln"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "call_1", "name": "bash", "input": {"command": "ls"}},
                {"type": "tool_use", "id": "call_2", "name": "bash", "input": {"malformed_arguments": r#"{"comm"#}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "content": "a.txt\n[exit 0]", "tool_use_id": "call_1"},
                {
                    "type": "tool_result",
                    "tool_use_id": "call_2",
                    "content": "The arguments are no JSON object.",
                    "is_error": true,
                },
            ]},
        ],
        "max_tokens": 64000,
    });
    assert_eq!(body, expected);
}

#[tokio::test]
async fn what_a_model_said_goes_back_as_it_came() {
    for wire in WIRES {
        let first = Answer::new()
            .reasoning(["Hm."])
            .signature("c2ln")
            .redacted_reasoning("c2VjcmV0")
            .text(["I look."])
            .call("a", "bash", [r#"{"command":"ls"}"#])
            .call("b", "bash", [r#"{"command""#]);
        let server = ModelServer::start(Script::new().then(first).then(ok())).unwrap();
        let model = wire.of(&server);
        let Some(Ok(model::ModelEvent::Done(answer))) = everything(&*model, hello()).await.pop()
        else {
            panic!("{wire:?} answers");
        };
        let mut request = hello();
        request.messages.push(Message::Assistant {
            blocks: answer.blocks,
        });
        let results = vec![
            result("a", "a.txt\n[exit 0]", false),
            result("b", "no", true),
        ];
        request.messages.push(Message::ToolResults { results });
        // The server refuses what a strict provider would.
        let answer = everything(&*model, request).await;
        assert_eq!(answer.first(), Some(&more_text("ok")), "{wire:?}");
        if wire == Wire::Anthropic {
            let body = server.requests().pop().unwrap().body;
            assert_eq!(
                body["messages"][1]["content"],
                json!([
                    {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
                    {"type": "redacted_thinking", "data": "c2VjcmV0"},
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "a", "name": "bash", "input": {"command": "ls"}},
                    {"type": "tool_use", "id": "b", "name": "bash", "input": {"malformed_arguments": r#"{"command""#}},
                ])
            );
        }
    }
}

#[tokio::test]
async fn a_prompt_after_results_without_an_answer_is_accepted() {
    for wire in WIRES {
        let server = ModelServer::start(Script::new().then(ok())).unwrap();
        let mut request = second_step();
        request.messages.push(user("Go on."));
        let answer = everything(&*wire.of(&server), request).await;
        assert_eq!(answer.first(), Some(&more_text("ok")), "{wire:?}");
    }
}

#[tokio::test]
async fn names_reach_the_provider_as_they_were_written() {
    for wire in WIRES {
        for model in ["qwen-max", "a/b:free", "x::y", "deep-none", "o-high"] {
            let server = ModelServer::start(Script::new().then(ok())).unwrap();
            let (provider, _) = wire.name().split_once('/').unwrap();
            let address = match wire {
                Wire::OpenAi => server.openai_base_url(),
                Wire::Anthropic => server.anthropic_base_url(),
            };
            let variables = [
                (wire.address_variable(), address.as_str()),
                (wire.key_variable(), KEY),
            ];
            let name = format!("{provider}/{model}");
            let body = body_of(&name, &variables, &server, hello()).await;
            let fields: Vec<&String> = body.as_object().unwrap().keys().collect();
            assert_eq!(body["model"], model, "{wire:?}");
            let expected: &[&str] = match wire {
                Wire::OpenAi => &["model", "stream", "messages", "stream_options"],
                Wire::Anthropic => &["model", "stream", "system", "messages", "max_tokens"],
            };
            assert_eq!(fields, expected, "{wire:?} {model}");
        }
    }
}

#[tokio::test]
async fn addresses_may_be_written_in_the_usual_forms() {
    let script = Script::new().otherwise(ok()).with_key(KEY);
    let server = ModelServer::start(script).unwrap();
    let host = server.anthropic_base_url();
    for wire in WIRES {
        for end in ["", "/", "/v1", "/v1/", wire.path()] {
            let answer = everything(&*wire.at(&format!("{host}{end}")), hello()).await;
            assert_eq!(answer.first(), Some(&more_text("ok")), "{wire:?} {end}");
            let request = server.requests().pop().unwrap();
            assert_eq!(request.path, wire.path(), "{wire:?} {end}");
        }
    }
}

#[tokio::test]
async fn the_key_travels_in_the_provider_s_own_header() {
    for (wire, header) in [
        (Wire::OpenAi, "authorization"),
        (Wire::Anthropic, "x-api-key"),
    ] {
        let server = ModelServer::start(Script::new().then(ok()).with_key(KEY)).unwrap();
        everything(&*wire.of(&server), hello()).await;
        let headers = server.requests().pop().unwrap().headers;
        assert_eq!(headers.get(header).map(String::as_str), Some("(present)"));
    }
}

#[tokio::test]
async fn a_proxy_is_not_asked_for_a_model_on_this_machine() {
    for wire in WIRES {
        let server = ModelServer::start(Script::new().then(ok())).unwrap();
        let address = server.anthropic_base_url();
        let variables = [
            (wire.address_variable(), address.as_str()),
            (wire.key_variable(), KEY),
            ("http_proxy", "http://127.0.0.1:1"),
            ("ALL_PROXY", "http://127.0.0.1:1"),
        ];
        let answer = everything(&*open(wire.name(), &variables).unwrap(), hello()).await;
        assert_eq!(answer.first(), Some(&more_text("ok")), "{wire:?}");
    }
}

#[tokio::test]
async fn providers_of_one_s_own_with_and_without_a_key() {
    let server = ModelServer::start(Script::new().otherwise(ok())).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = format!(
        "[providers.local]\nbase_url = \"{openai}\"\n\n\
         [providers.gateway]\nbase_url = \"{anthropic}\"\nkind = \"anthropic\"\n\n\
         [providers.paid]\nbase_url = \"{openai}\"\napi_key_env = \"PAID_KEY\"\n",
        openai = server.openai_base_url(),
        anthropic = server.anthropic_base_url(),
    );
    std::fs::write(folder.path().join("config.toml"), file).unwrap();
    let surroundings = Surroundings {
        environment: [("PAID_KEY", KEY)].into_iter().collect(),
        config_dir: folder.path().to_owned(),
        data_dir: PathBuf::from("/nowhere"),
        cache_dir: PathBuf::from("/nowhere"),
        program: PathBuf::from("/nowhere"),
    };
    let config = Config::load(&surroundings).unwrap();
    let cases = [
        ("local/m", "/v1/chat/completions", [None, None]),
        ("gateway/m", "/v1/messages", [None, None]),
        ("paid/m", "/v1/chat/completions", [Some("(present)"), None]),
    ];
    for (name, path, keys) in cases {
        let model = model::open(
            &config.model_name(name).unwrap(),
            &config,
            &surroundings.environment,
        )
        .unwrap();
        let answer = everything(&*model, hello()).await;
        assert_eq!(answer.first(), Some(&more_text("ok")), "{name}");
        let request = server.requests().pop().unwrap();
        let header = |name: &str| request.headers.get(name).map(String::as_str);
        assert_eq!(
            (
                request.path.as_str(),
                [header("authorization"), header("x-api-key")]
            ),
            (path, keys),
            "{name}"
        );
    }
}

#[tokio::test]
async fn a_proxy_is_asked_for_a_model_elsewhere() {
    // The model server stands in for the proxy: it gets the request as it would be passed on.
    let server = ModelServer::start(Script::new().then(ok())).unwrap();
    let proxy = server.anthropic_base_url();
    let variables = [
        ("OPENAI_BASE_URL", "http://model.invalid/v1"),
        ("OPENAI_API_KEY", KEY),
        ("HTTP_PROXY", proxy.as_str()),
    ];
    let answer = everything(&*open("openai/gpt-test", &variables).unwrap(), hello()).await;
    assert_eq!(answer.first(), Some(&more_text("ok")));
    let headers = server.requests().pop().unwrap().headers;
    assert_eq!(
        headers.get("host").map(String::as_str),
        Some("model.invalid")
    );
}

#[tokio::test]
async fn ollama_needs_no_key() {
    let server = ModelServer::start(Script::new().then(ok())).unwrap();
    let address = server.openai_base_url();
    let model = open("ollama/qwen3:8b", &[("OLLAMA_BASE_URL", address.as_str())]).unwrap();
    let answer = everything(&*model, hello()).await;
    assert_eq!(answer.first(), Some(&more_text("ok")));
    let request = server.requests().pop().unwrap();
    assert_eq!(
        (request.path.as_str(), &request.body["model"]),
        ("/v1/chat/completions", &json!("qwen3:8b"))
    );
    assert_eq!(request.headers.get("authorization"), None);
}
