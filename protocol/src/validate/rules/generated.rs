// Written by `cargo run -p zot-protocol --example write-schemas`.

use super::{ANY, ARRAY, BOOLEAN, INTEGER, NULL, OBJECT, Rule, STRING};
use crate::pattern;

pub(in crate::validate) static FROM_EXTENSION: [&Rule; 18] = [
    // hello
    &Rule { types: OBJECT, fields: &[("type", &Rule { types: STRING, values: &[Some("hello")], ..ANY }), ("name", &Rule { types: STRING, not_empty: true, ..ANY }), ("version", &Rule { types: STRING | NULL, ..ANY }), ("capabilities", &Rule { types: ARRAY | NULL, items: Some(&Rule { types: STRING, ..ANY }), ..ANY })], required: &["type", "name"], ..ANY },
    // register_command
    &Rule { types: OBJECT, fields: &[("type", &Rule { types: STRING, values: &[Some("register_command")], ..ANY }), ("name", &Rule { types: STRING, pattern: Some(pattern::is_command_name), ..ANY }), ("description", &Rule { types: STRING | NULL, ..ANY })], required: &["type", "name"], ..ANY },
    // register_tool
    &Rule { types: OBJECT, fields: &[("type", &Rule { types: STRING, values: &[Some("register_tool")], ..ANY }), ("name", &Rule { types: STRING, pattern: Some(pattern::is_tool_name), ..ANY }), ("description", &Rule { types: STRING | NULL, ..ANY }), ("schema", &Rule { types: OBJECT, fields: &[("type", &Rule { values: &[Some("object")], ..ANY })], ..ANY }), ("output_schema", &Rule { types: OBJECT | NULL, others: Some(&ANY), ..ANY }), ("interactive", &Rule { types: BOOLEAN | NULL, ..ANY }), ("strict", &Rule { types: BOOLEAN | NULL, ..ANY })], required: &["type", "name", "schema"], ..ANY },
    // subscribe
    &Rule { types: OBJECT, fields: &[("type", &Rule { types: STRING, values: &[Some("subscribe")], ..ANY }), ("events", &Rule { types: ARRAY | NULL, items: Some(&Rule { types: STRING, ..ANY }), ..ANY }), ("intercept", &Rule { types: ARRAY | NULL, items: Some(&Rule { types: STRING, ..ANY }), ..ANY })], required: &["type"], ..ANY },
    // ready
    &Rule { types: OBJECT, fields: &[("type", &Rule { types: STRING, values: &[Some("ready")], ..ANY })], required: &["type"], ..ANY },
    // command_response
    &Rule { types: OBJECT, fields: &[("type", &Rule { types: STRING, values: &[Some("command_response")], ..ANY }), ("id", &Rule { types: STRING, not_empty: true, ..ANY }), ("action", &Rule { types: STRING | NULL, values: &[Some("prompt"), Some("insert"), Some("display"), Some("noop"), Some("open_panel"), None], ..ANY }), ("prompt", &Rule { types: STRING | NULL, ..ANY }), ("insert", &Rule { types: STRING | NULL, ..ANY }), ("display", &Rule { types: STRING | NULL, ..ANY }), ("open_panel", &Rule { at_least_one: &[&Rule { types: OBJECT, fields: &[("id", &Rule { types: STRING, not_empty: true, ..ANY }), ("title", &Rule { types: STRING | NULL, ..ANY }), ("lines", &Rule { types: ARRAY | NULL, items: Some(&Rule { types: STRING, ..ANY }), ..ANY }), ("footer", &Rule { types: STRING | NULL, ..ANY }), ("capture_esc", &Rule { types: BOOLEAN | NULL, ..ANY })], required: &["id"], ..ANY }, &Rule { types: NULL, ..ANY }], ..ANY }), ("error", &Rule { types: STRING | NULL, ..ANY })], required: &["type", "id"], when: Some((&Rule { fields: &[("action", &Rule { values: &[Some("open_panel")], ..ANY })], required: &["action"], ..ANY }, &Rule { fields: &[("open_panel", &Rule { types: OBJECT, ..ANY })], required: &["open_panel"], ..ANY })), ..ANY },
    // tool_result
    &Rule { types: OBJECT, fields: &[("type", &Rule { types: STRING, values: &[Some("tool_result")], ..ANY }), ("id", &Rule { types: STRING, not_empty: true, ..ANY }), ("content", &Rule { types: ARRAY, items: Some(&Rule { exactly_one: &[&Rule { types: OBJECT, fields: &[("type", &Rule { types: STRING, values: &[Some("text")], ..ANY }), ("text", &Rule { types: STRING | NULL, ..ANY })], required: &["type"], ..ANY }, &Rule { types: OBJECT, fields: &[("type", &Rule { types: STRING, values: &[Some("image")], ..ANY }), ("mime_type", &Rule { types: STRING, ..ANY }), ("data", &Rule { types: STRING, ..ANY })], required: &["type", "mime_type", "data"], ..ANY }], ..ANY }), ..ANY }), ("is_error", &Rule { types: BOOLEAN | NULL, ..ANY }), ("structured_content", &ANY)], required: &["type", "id", "content"], ..ANY },
    // tool_progress
    &Rule { types: OBJECT, fields: &[("type", &Rule { types: STRING, values: &[Some("tool_progress")], ..ANY }), ("id", &Rule { types: STRING, not_empty: true, ..ANY }), ("text", &Rule { types: STRING | NULL, ..ANY })], required: &["type", "id"], ..ANY },
    // event_intercept_response
    &Rule { types: OBJECT, fields: &[("type", &Rule { types: STRING, values: &[Some("event_intercept_response")], ..ANY }), ("id", &Rule { types: STRING, not_empty: true, ..ANY }), ("block", &Rule { types: BOOLEAN | NULL, ..ANY }), ("reason", &Rule { types: STRING | NULL, ..ANY }), ("modified_args", &Rule { types: OBJECT | NULL, others: Some(&ANY), ..ANY }), ("replace_text", &Rule { types: STRING | NULL, ..ANY }), ("replace_content", &Rule { types: ARRAY | NULL, items: Some(&Rule { exactly_one: &[&Rule { types: OBJECT, fields: &[("type", &Rule { types: STRING, values: &[Some("text")], ..ANY }), ("text", &Rule { types: STRING | NULL, ..ANY })], required: &["type"], ..ANY }, &Rule { types: OBJECT, fields: &[("type", &Rule { types: STRING, values: &[Some("image")], ..ANY }), ("mime_type", &Rule { types: STRING, ..ANY }), ("data", &Rule { types: STRING, ..ANY })], required: &["type", "mime_type", "data"], ..ANY }], ..ANY }), ..ANY }), ("system_prompt", &Rule { types: STRING | NULL, ..ANY })], required: &["type", "id"], ..ANY },
    // notify
    &Rule { types: OBJECT, fields: &[("type", &Rule { types: STRING, values: &[Some("notify")], ..ANY }), ("level", &Rule { types: STRING, values: &[Some("info"), Some("success"), Some("warn"), Some("error")], ..ANY }), ("message", &Rule { types: STRING | NULL, ..ANY })], required: &["type", "level"], ..ANY },
    // clear_notes
    &Rule { types: OBJECT, fields: &[("type", &Rule { types: STRING, values: &[Some("clear_notes")], ..ANY })], required: &["type"], ..ANY },
    // shutdown_ack
    &Rule { types: OBJECT, fields: &[("type", &Rule { types: STRING, values: &[Some("shutdown_ack")], ..ANY })], required: &["type"], ..ANY },
    // open_panel
    &Rule { types: OBJECT, fields: &[("type", &Rule { types: STRING, values: &[Some("open_panel")], ..ANY }), ("panel", &Rule { types: OBJECT, fields: &[("id", &Rule { types: STRING, not_empty: true, ..ANY }), ("title", &Rule { types: STRING | NULL, ..ANY }), ("lines", &Rule { types: ARRAY | NULL, items: Some(&Rule { types: STRING, ..ANY }), ..ANY }), ("footer", &Rule { types: STRING | NULL, ..ANY }), ("capture_esc", &Rule { types: BOOLEAN | NULL, ..ANY })], required: &["id"], ..ANY })], required: &["type", "panel"], ..ANY },
    // panel_render
    &Rule { types: OBJECT, fields: &[("type", &Rule { types: STRING, values: &[Some("panel_render")], ..ANY }), ("panel_id", &Rule { types: STRING, not_empty: true, ..ANY }), ("title", &Rule { types: STRING | NULL, ..ANY }), ("lines", &Rule { types: ARRAY | NULL, items: Some(&Rule { types: STRING, ..ANY }), ..ANY }), ("footer", &Rule { types: STRING | NULL, ..ANY })], required: &["type", "panel_id"], ..ANY },
    // panel_close
    &Rule { types: OBJECT, fields: &[("type", &Rule { types: STRING, values: &[Some("panel_close")], ..ANY }), ("panel_id", &Rule { types: STRING, not_empty: true, ..ANY })], required: &["type", "panel_id"], ..ANY },
    // submit
    &Rule { types: OBJECT, fields: &[("type", &Rule { types: STRING, values: &[Some("submit")], ..ANY }), ("text", &Rule { types: STRING | NULL, ..ANY })], required: &["type"], ..ANY },
    // call_tool
    &Rule { types: OBJECT, fields: &[("type", &Rule { types: STRING, values: &[Some("call_tool")], ..ANY }), ("id", &Rule { types: STRING, not_empty: true, ..ANY }), ("name", &Rule { types: STRING, not_empty: true, ..ANY }), ("args", &Rule { types: OBJECT, others: Some(&ANY), ..ANY }), ("parent_id", &Rule { types: STRING | NULL, not_empty: true, ..ANY })], required: &["type", "id", "name", "args"], ..ANY },
    // call_tool_cancel
    &Rule { types: OBJECT, fields: &[("type", &Rule { types: STRING, values: &[Some("call_tool_cancel")], ..ANY }), ("id", &Rule { types: STRING, not_empty: true, ..ANY })], required: &["type", "id"], ..ANY },
];

pub(in crate::validate) static COMMAND: [&Rule; 15] = [
    // hello
    &Rule { types: OBJECT, fields: &[("type", &Rule { types: STRING, values: &[Some("hello")], ..ANY }), ("id", &Rule { types: STRING | NULL, ..ANY }), ("token", &Rule { types: STRING | NULL, ..ANY })], required: &["type"], ..ANY },
    // prompt
    &Rule { types: OBJECT, fields: &[("type", &Rule { types: STRING, values: &[Some("prompt")], ..ANY }), ("id", &Rule { types: STRING | NULL, ..ANY }), ("message", &Rule { types: STRING, ..ANY }), ("images", &Rule { types: ARRAY | NULL, items: Some(&Rule { types: OBJECT, fields: &[("mime_type", &Rule { types: STRING, ..ANY }), ("data", &Rule { types: STRING, ..ANY })], required: &["mime_type", "data"], ..ANY }), ..ANY })], required: &["type", "message"], ..ANY },
    // abort
    &Rule { types: OBJECT, fields: &[("type", &Rule { types: STRING, values: &[Some("abort")], ..ANY }), ("id", &Rule { types: STRING | NULL, ..ANY })], required: &["type"], ..ANY },
    // compact
    &Rule { types: OBJECT, fields: &[("type", &Rule { types: STRING, values: &[Some("compact")], ..ANY }), ("id", &Rule { types: STRING | NULL, ..ANY })], required: &["type"], ..ANY },
    // get_state
    &Rule { types: OBJECT, fields: &[("type", &Rule { types: STRING, values: &[Some("get_state")], ..ANY }), ("id", &Rule { types: STRING | NULL, ..ANY })], required: &["type"], ..ANY },
    // get_messages
    &Rule { types: OBJECT, fields: &[("type", &Rule { types: STRING, values: &[Some("get_messages")], ..ANY }), ("id", &Rule { types: STRING | NULL, ..ANY })], required: &["type"], ..ANY },
    // clear
    &Rule { types: OBJECT, fields: &[("type", &Rule { types: STRING, values: &[Some("clear")], ..ANY }), ("id", &Rule { types: STRING | NULL, ..ANY })], required: &["type"], ..ANY },
    // set_model
    &Rule { types: OBJECT, fields: &[("type", &Rule { types: STRING, values: &[Some("set_model")], ..ANY }), ("id", &Rule { types: STRING | NULL, ..ANY }), ("model", &Rule { types: STRING, ..ANY })], required: &["type", "model"], ..ANY },
    // get_models
    &Rule { types: OBJECT, fields: &[("type", &Rule { types: STRING, values: &[Some("get_models")], ..ANY }), ("id", &Rule { types: STRING | NULL, ..ANY })], required: &["type"], ..ANY },
    // ping
    &Rule { types: OBJECT, fields: &[("type", &Rule { types: STRING, values: &[Some("ping")], ..ANY }), ("id", &Rule { types: STRING | NULL, ..ANY })], required: &["type"], ..ANY },
    // set_reasoning
    &Rule { types: OBJECT, fields: &[("type", &Rule { types: STRING, values: &[Some("set_reasoning")], ..ANY }), ("id", &Rule { types: STRING | NULL, ..ANY }), ("reasoning", &Rule { types: STRING, values: &[Some("off"), Some("low"), Some("medium"), Some("high")], ..ANY })], required: &["type", "reasoning"], ..ANY },
    // get_commands
    &Rule { types: OBJECT, fields: &[("type", &Rule { types: STRING, values: &[Some("get_commands")], ..ANY }), ("id", &Rule { types: STRING | NULL, ..ANY })], required: &["type"], ..ANY },
    // run_command
    &Rule { types: OBJECT, fields: &[("type", &Rule { types: STRING, values: &[Some("run_command")], ..ANY }), ("id", &Rule { types: STRING | NULL, ..ANY }), ("name", &Rule { types: STRING, ..ANY }), ("args", &Rule { types: STRING | NULL, ..ANY })], required: &["type", "name"], ..ANY },
    // get_extensions
    &Rule { types: OBJECT, fields: &[("type", &Rule { types: STRING, values: &[Some("get_extensions")], ..ANY }), ("id", &Rule { types: STRING | NULL, ..ANY })], required: &["type"], ..ANY },
    // reload_ext
    &Rule { types: OBJECT, fields: &[("type", &Rule { types: STRING, values: &[Some("reload_ext")], ..ANY }), ("id", &Rule { types: STRING | NULL, ..ANY })], required: &["type"], ..ANY },
];

pub(in crate::validate) static MANIFEST: &Rule = &Rule { types: OBJECT, fields: &[("$schema", &Rule { types: STRING | NULL, ..ANY }), ("name", &Rule { types: STRING, pattern: Some(pattern::is_extension_name), ..ANY }), ("version", &Rule { types: STRING | NULL, ..ANY }), ("exec", &Rule { types: STRING, not_empty: true, ..ANY }), ("args", &Rule { types: ARRAY | NULL, items: Some(&Rule { types: STRING, ..ANY }), ..ANY }), ("language", &Rule { types: STRING | NULL, ..ANY }), ("description", &Rule { types: STRING | NULL, ..ANY }), ("enabled", &Rule { types: BOOLEAN | NULL, ..ANY }), ("timeouts", &Rule { types: OBJECT | NULL, fields: &[("hello_ms", &Rule { types: INTEGER | NULL, range: Some((1000, 120000)), ..ANY }), ("tool_ms", &Rule { types: INTEGER | NULL, range: Some((1000, 600000)), ..ANY }), ("intercept_ms", &Rule { types: INTEGER | NULL, range: Some((100, 15000)), ..ANY })], ..ANY }), ("intercept", &Rule { types: OBJECT | NULL, fields: &[("tool_call", &Rule { types: OBJECT, fields: &[("on_failure", &Rule { types: STRING | NULL, values: &[Some("allow"), Some("block"), None], ..ANY })], ..ANY }), ("turn_start", &Rule { types: OBJECT, fields: &[("on_failure", &Rule { types: STRING | NULL, values: &[Some("allow"), Some("block"), None], ..ANY })], ..ANY }), ("assistant_message", &Rule { types: OBJECT, fields: &[("on_failure", &Rule { types: STRING | NULL, values: &[Some("allow"), Some("block"), None], ..ANY })], ..ANY }), ("user_message", &Rule { types: OBJECT, fields: &[("on_failure", &Rule { types: STRING | NULL, values: &[Some("allow"), Some("block"), None], ..ANY })], ..ANY }), ("tool_result", &Rule { types: OBJECT, fields: &[("on_failure", &Rule { types: STRING | NULL, values: &[Some("allow"), Some("block"), None], ..ANY })], ..ANY }), ("before_agent_start", &Rule { types: OBJECT, fields: &[("on_failure", &Rule { types: STRING | NULL, values: &[Some("allow"), Some("block"), None], ..ANY })], ..ANY })], others: Some(&Rule { types: OBJECT, fields: &[("on_failure", &Rule { types: STRING | NULL, values: &[Some("allow"), Some("block"), None], ..ANY })], ..ANY }), ..ANY }), ("permissions", &Rule { types: OBJECT | NULL, fields: &[("fs", &Rule { types: OBJECT | NULL, fields: &[("read", &Rule { types: ARRAY | NULL, items: Some(&Rule { types: STRING, pattern: Some(pattern::is_granted_path), ..ANY }), ..ANY }), ("write", &Rule { types: ARRAY | NULL, items: Some(&Rule { types: STRING, pattern: Some(pattern::is_granted_path), ..ANY }), ..ANY })], ..ANY }), ("net", &Rule { types: BOOLEAN | ARRAY | NULL, items: Some(&Rule { types: INTEGER, range: Some((1, 65535)), ..ANY }), ..ANY }), ("env", &Rule { types: ARRAY | NULL, items: Some(&Rule { types: STRING, pattern: Some(pattern::is_env_name), ..ANY }), ..ANY })], ..ANY })], required: &["name", "exec"], ..ANY };

pub(in crate::validate) static CONFIG: &Rule = &Rule { types: OBJECT, fields: &[("$schema", &Rule { types: STRING | NULL, ..ANY }), ("provider", &Rule { types: STRING | NULL, ..ANY }), ("model", &Rule { types: STRING | NULL, ..ANY }), ("reasoning", &Rule { types: STRING | NULL, values: &[Some("off"), Some("low"), Some("medium"), Some("high"), None], ..ANY }), ("theme", &Rule { types: STRING | NULL, ..ANY }), ("extensions", &Rule { types: OBJECT | NULL, others: Some(&Rule { types: OBJECT, fields: &[("on_failure", &Rule { types: OBJECT | NULL, others: Some(&Rule { types: STRING, values: &[Some("allow"), Some("block")], ..ANY }), ..ANY })], ..ANY }), ..ANY }), ("trusted", &Rule { types: OBJECT | NULL, others: Some(&Rule { types: OBJECT, fields: &[("digest", &Rule { types: STRING, ..ANY }), ("allowed", &Rule { types: BOOLEAN, ..ANY })], required: &["digest", "allowed"], ..ANY }), ..ANY })], ..ANY };
