//! What people read when it goes wrong.

use agent_core::model::ModelError;
use inspector::{Answer, Failure, ModelServer, Script};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::{KEY, WIRES, Wire, everything, hello, more_text, open};

/// The one line that a refusal ends in, with the port taken out of the address.
async fn line(wire: Wire, failure: Failure) -> String {
    let server = ModelServer::start(Script::new().then(failure)).unwrap();
    let answer = everything(&*wire.of(&server), hello()).await;
    let [Err(error)] = answer.as_slice() else {
        panic!("{wire:?}: an error is expected, not {answer:?}");
    };
    error
        .to_string()
        .replace(&server.anthropic_base_url(), "http://HOST")
}

#[tokio::test]
async fn refusals_say_what_to_do() {
    for wire in WIRES {
        let key = wire.key_variable();
        let address = wire.address_variable();
        let name = wire.name();
        let (_, model) = name.split_once('/').unwrap();
        let cases = [
            (Failure::new(401, "no"), format!("the API key was refused (401); check {key}")),
            (Failure::new(402, "no"), "the account has no credit left (402); top it up at the provider".to_owned()),
            (
                Failure::new(403, "no"),
                format!("access was refused (403); check that the key in {key} may use `{model}`"),
            ),
            (
                Failure::new(404, "no"),
                format!("there is no model `{model}` at http://HOST/v1/ (404); check the name, and {address}"),
            ),
            (
                Failure::new(429, "slow down").header("retry-after", "7"),
                "too many requests (429); wait 7 seconds and send the prompt again".to_owned(),
            ),
            (
                Failure::new(429, "slow down"),
                "too many requests (429); wait a moment and send the prompt again".to_owned(),
            ),
            (
                Failure::json(429, json!({"error": {"message": "…", "code": "insufficient_quota"}})),
                "the account's quota is used up (429); check its plan at the provider".to_owned(),
            ),
            (
                Failure::new(529, "Overloaded"),
                "the provider is overloaded or failing (529); wait a moment and send the prompt again".to_owned(),
            ),
            (
                Failure::text(502, "<html>Bad gateway</html>"),
                "the provider is overloaded or failing (502); wait a moment and send the prompt again".to_owned(),
            ),
            (Failure::new(504, "late"), "the provider took too long (504); send the prompt again".to_owned()),
            (
                Failure::new(400, "prompt is too long: 210000 tokens > 200000 maximum"),
                "the session no longer fits into the model's context (400); start a new session, or choose a model \
                 with a larger context"
                    .to_owned(),
            ),
            (
                Failure::new(400, format!("temperature:\n  must be 1, {KEY}")),
                "the provider refused the request (400): temperature: must be 1, (the key)".to_owned(),
            ),
            (
                Failure::text(400, "Be brief. Hello"),
                "the provider refused the request (400): it gave no reason that can be shown".to_owned(),
            ),
            (
                Failure::text(308, "").header("location", "http://127.0.0.1:1/"),
                format!("http://HOST/v1/ redirects to another address (308); set {address} to the final one"),
            ),
        ];
        for (failure, expected) in cases {
            let shown = format!("{wire:?} {failure:?}");
            assert_eq!(
                line(wire, failure).await,
                format!("{name}: {expected}"),
                "{shown}"
            );
        }
    }
}

#[tokio::test]
async fn nobody_listens() {
    for wire in WIRES {
        // A socket that is bound but does not listen keeps the port from everybody else.
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket
            .bind((std::net::Ipv4Addr::LOCALHOST, 0).into())
            .unwrap();
        let port = socket.local_addr().unwrap().port();
        let answer = everything(&*wire.at(&format!("http://127.0.0.1:{port}")), hello()).await;
        let message = format!(
            "nothing listens at http://127.0.0.1:{port}/v1/ (connection refused); start the server, or check {}",
            wire.address_variable()
        );
        assert_eq!(
            answer,
            [Err(ModelError::Provider {
                model: wire.name().to_owned(),
                message
            })]
        );
    }
}

#[tokio::test]
async fn a_server_that_is_no_model() {
    for wire in WIRES {
        let server =
            ModelServer::start(Script::new().then(Failure::text(200, "<html>Welcome</html>")))
                .unwrap();
        let answer = everything(&*wire.of(&server), hello()).await;
        let message = format!(
            "what answers at {}/v1/ does not speak the expected API; check {}",
            server.anthropic_base_url(),
            wire.address_variable()
        );
        assert_eq!(
            answer,
            [Err(ModelError::Provider {
                model: wire.name().to_owned(),
                message
            })]
        );
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_no_answer() {
    let call = || {
        Answer::new()
            .text(["I look."])
            .call("a", "bash", [r#"{"command":"rm -rf "#])
    };
    for wire in WIRES {
        let cases = [
            (
                call().cut(),
                vec![more_text("I look.")],
                "the connection closed",
            ),
            (
                call().stop_short(),
                vec![more_text("I look.")],
                "the connection closed",
            ),
            (
                call().garbage(),
                vec![more_text("I look.")],
                "the provider sent something garbled",
            ),
            (Answer::new().cut(), vec![], "the connection closed"),
            (Answer::new().stop_short(), vec![], "the connection closed"),
        ];
        for (step, mut expected, message) in cases {
            let shown = format!("{wire:?} {step:?}");
            expected.push(Err(wire.broken_off(message)));
            assert_eq!(wire.says(step).await, expected, "{shown}");
        }
    }
}

#[tokio::test]
async fn a_wrong_key_is_told_by_the_name_of_its_variable() {
    for wire in WIRES {
        let server = ModelServer::start(Script::new().with_key("sk-another")).unwrap();
        let answer = everything(&*wire.of(&server), hello()).await;
        let message = format!(
            "the API key was refused (401); check {}",
            wire.key_variable()
        );
        assert_eq!(
            answer,
            [Err(ModelError::Provider {
                model: wire.name().to_owned(),
                message
            })]
        );
    }
}

/// A model's name, the variables around it, and what is said.
type Setup = (
    &'static str,
    &'static [(&'static str, &'static str)],
    String,
);

#[test]
fn setups_that_cannot_work() {
    let file = "/home/ann/.config/placard/config.toml";
    let cases: [Setup; 8] = [
        (
            "deepseek/deepseek-chat",
            &[],
            format!(
                "deepseek/deepseek-chat needs an API key: set the variable DEEPSEEK_API_KEY, or name another variable \
                 with `api_key_env` under [providers.deepseek] in {file}"
            ),
        ),
        (
            "gemini/gemini-2.5-flash",
            &[("GEMINI_API_KEY", " \n")],
            format!(
                "gemini/gemini-2.5-flash needs an API key: set the variable GEMINI_API_KEY, or name another variable \
                 with `api_key_env` under [providers.gemini] in {file}"
            ),
        ),
        (
            "openai/gpt-5",
            &[("OPENAI_API_KEY", "sk-abc def")],
            "openai/gpt-5: the variable OPENAI_API_KEY holds characters that no API key has; set it to the key alone"
                .to_owned(),
        ),
        (
            "ollama/qwen3",
            &[("OLLAMA_BASE_URL", "localhost:11434")],
            "ollama/qwen3: OLLAMA_BASE_URL must be an address such as `https://host/v1`, and here it is an address \
             that begins neither with http:// nor with https://"
                .to_owned(),
        ),
        (
            "openai/gpt-5",
            &[("OPENAI_API_KEY", KEY), ("OPENAI_BASE_URL", "https://ann:secret@host/v1")],
            "openai/gpt-5: OPENAI_BASE_URL must be an address such as `https://host/v1`, and here it is an address \
             with a user or password in it; keys belong in `api_key_env`"
                .to_owned(),
        ),
        (
            "mistral/large",
            &[],
            format!(
                "unknown provider `mistral`; known are anthropic, deepseek, gemini, ollama, openai; to use an endpoint \
                 that speaks OpenAI's API, add [providers.NAME] with base_url = \"https://…/v1\" and api_key_env = \
                 \"…\" to {file}, and write NAME/model"
            ),
        ),
        (
            "gpt-5",
            &[],
            "`gpt-5` is no model; write `offline`, or provider/model such as `deepseek/deepseek-chat` (providers: \
             anthropic, deepseek, gemini, ollama, openai)"
                .to_owned(),
        ),
        (
            "sk-abcdef",
            &[],
            "(not shown: it looks like a secret) is no model; write `offline`, or provider/model such as \
             `deepseek/deepseek-chat` (providers: anthropic, deepseek, gemini, ollama, openai)"
                .to_owned(),
        ),
    ];
    for (name, variables, expected) in cases {
        assert_eq!(
            open(name, variables).map(drop).unwrap_err().to_string(),
            expected
        );
    }
}

#[test]
fn a_model_in_a_log_shows_no_key() {
    for wire in WIRES {
        let shown = format!("{:?}", wire.at("http://127.0.0.1:1"));
        assert!(!shown.contains(KEY), "{shown}");
    }
}

#[tokio::test]
async fn a_proxy_that_is_no_address() {
    let variables = [
        ("OPENAI_API_KEY", KEY),
        ("https_proxy", "http://ann:secret@[nowhere"),
    ];
    let model = open("openai/gpt-test", &variables).unwrap();
    let message = "the HTTP client cannot start (builder error); check the proxy variables, and that the system's \
                   certificates are installed"
        .to_owned();
    let expected = ModelError::Provider {
        model: "openai/gpt-test".to_owned(),
        message,
    };
    assert_eq!(everything(&*model, hello()).await, [Err(expected)]);
}
