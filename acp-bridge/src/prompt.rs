//! From the blocks of a prompt to the text that a model reads.

use agent_client_protocol::v1::schema::{ContentBlock, EmbeddedResourceResource};

/// The text of a prompt. An error says which block cannot be taken, and what can.
pub(crate) fn text(blocks: &[ContentBlock]) -> Result<String, String> {
    let parts: Vec<String> = blocks.iter().map(block_text).collect::<Result<_, _>>()?;
    let text = parts.join("\n\n");
    if text.trim().is_empty() {
        return Err("the prompt is empty; say what is to be done".to_owned());
    }
    Ok(text)
}

fn block_text(block: &ContentBlock) -> Result<String, String> {
    match block {
        ContentBlock::Text(text) => Ok(text.text.clone()),
        ContentBlock::ResourceLink(link) => Ok(format!("[{}]({})", link.name, link.uri)),
        ContentBlock::Resource(resource) => match &resource.resource {
            EmbeddedResourceResource::TextResourceContents(text) => Ok(format!("<resource uri=\"{}\">\n{}\n</resource>", text.uri, text.text)),
            _ => Err("a prompt with a binary resource cannot be taken; embed text, or link the file".to_owned()),
        },
        ContentBlock::Image(_) => Err("a prompt with an image cannot be taken; describe it, or link the file".to_owned()),
        ContentBlock::Audio(_) => Err("a prompt with audio cannot be taken; write it out".to_owned()),
        _ => Err("a prompt with a block of an unknown type cannot be taken; send text, resource links and text resources".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent_client_protocol::v1::schema::ImageContent;
    use pretty_assertions::assert_eq;

    fn block(value: serde_json::Value) -> ContentBlock {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn blocks_become_one_text() {
        let blocks = [
            block(serde_json::json!({"type": "text", "text": "see"})),
            block(
                serde_json::json!({"type": "resource_link", "name": "a.rs", "uri": "file:///a.rs"}),
            ),
            block(
                serde_json::json!({"type": "resource", "resource": {"uri": "file:///b", "text": "B"}}),
            ),
        ];
        assert_eq!(
            text(&blocks).unwrap(),
            "see\n\n[a.rs](file:///a.rs)\n\n<resource uri=\"file:///b\">\nB\n</resource>"
        );
    }

    #[test]
    fn what_cannot_be_taken_is_named() {
        assert_eq!(
            text(&[]).unwrap_err(),
            "the prompt is empty; say what is to be done"
        );
        let image = ContentBlock::Image(ImageContent::new("", "image/png"));
        assert_eq!(
            text(&[image]).unwrap_err(),
            "a prompt with an image cannot be taken; describe it, or link the file"
        );
    }
}
