//! The same turn with a scripted model behind the real HTTP code, in both wire formats.

use inspector::model_server::{Answer, ModelServer, Script};
use placard_tests::Home;
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::editor::{Editor, draws_cards};

/// Runs `seq 1 3` through a scripted model; `variables` names provider, key and address.
async fn turn(server: &ModelServer, variables: [(&str, &str); 3]) -> (Editor, String) {
    let mut home = Home::new();
    for (name, value) in variables {
        home.set(name, value);
    }
    let mut editor = Editor::connect(&home, draws_cards()).await;
    let session = editor.session(&home.work_folder()).await;
    let id = editor.prompt(&session, "count").await;
    let question = editor
        .until(|message| message["method"] == "session/request_permission")
        .await;
    editor
        .answer(
            &question["id"],
            json!({"outcome": {"outcome": "selected", "optionId": "allow-once"}}),
        )
        .await;
    assert_eq!(
        editor.response(id).await["result"],
        json!({"stopReason": "end_turn"})
    );
    let calls = editor.calls(&session);
    let (first, last) = (&calls[0], calls.last().unwrap());
    assert_eq!(first["title"], "seq 1 3");
    assert_eq!(
        first["_meta"]["terminal_info"],
        json!({"terminal_id": "terminal-call-1", "cwd": home.work_folder()})
    );
    assert_eq!(last["status"], "completed");
    assert_eq!(
        last["_meta"]["terminal_exit"],
        json!({"terminal_id": "terminal-call-1", "exit_code": 0, "signal": null})
    );
    assert_eq!(editor.printed(&session), "1\r\n2\r\n3\r\n");
    assert_eq!(editor.said(&session), "Let me count.Three.");
    assert_eq!(server.requests().len(), 2);
    (editor, session)
}

fn server() -> ModelServer {
    let script = Script::new()
        .then(
            Answer::new()
                .text(["Let me ", "count."])
                .call("m1", "bash", [r#"{"comm"#, r#"and": "seq 1 3"}"#])
                .usage(10, 5),
        )
        .then(Answer::new().text(["Three."]).usage(20, 2));
    ModelServer::start(script).unwrap()
}

#[tokio::test]
async fn over_openai_chat_completions() {
    let server = server();
    let address = server.openai_base_url();
    turn(
        &server,
        [
            ("PLACARD_MODEL", "deepseek/deepseek-chat"),
            ("DEEPSEEK_API_KEY", "k"),
            ("DEEPSEEK_BASE_URL", &address),
        ],
    )
    .await;
    let second = &server.requests()[1];
    let messages = second.body["messages"].as_array().unwrap();
    assert_eq!(messages[1], json!({"role": "user", "content": "count"}));
    assert_eq!(messages[3]["role"], "tool");
    assert_eq!(messages[3]["tool_call_id"], "m1");
    assert_eq!(messages[3]["content"], "1\n2\n3\n[exit 0]");
}

#[tokio::test]
async fn over_anthropic_messages() {
    let server = server();
    let address = server.anthropic_base_url();
    turn(
        &server,
        [
            ("PLACARD_MODEL", "anthropic/claude-test"),
            ("ANTHROPIC_API_KEY", "k"),
            ("ANTHROPIC_BASE_URL", &address),
        ],
    )
    .await;
    let second = &server.requests()[1];
    let last = second.body["messages"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()
        .clone();
    assert_eq!(last["role"], "user");
    assert_eq!(last["content"][0]["type"], "tool_result");
    assert_eq!(last["content"][0]["tool_use_id"], "m1");
    assert!(
        last["content"][0]["content"]
            .to_string()
            .contains("1\\n2\\n3\\n[exit 0]"),
        "{last}"
    );
}

#[tokio::test]
async fn only_name_description_and_parameters_of_a_tool_reach_the_provider() {
    let server = server();
    let address = server.openai_base_url();
    turn(
        &server,
        [
            ("PLACARD_MODEL", "openai/gpt-test"),
            ("OPENAI_API_KEY", "k"),
            ("OPENAI_BASE_URL", &address),
        ],
    )
    .await;
    let tools = server.requests()[0].body["tools"].clone();
    let fields: Vec<Vec<String>> = tools
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| {
            let mut fields: Vec<String> = tool["function"]
                .as_object()
                .unwrap()
                .keys()
                .cloned()
                .collect();
            fields.sort();
            fields
        })
        .collect();
    assert_eq!(fields.len(), 6);
    for fields in fields {
        assert!(
            fields
                .iter()
                .all(|field| ["name", "description", "parameters", "strict"]
                    .contains(&field.as_str())),
            "{fields:?}"
        );
    }
}
