//! Weather for any city: a tool for the model, and a slash command that asks the model to use it.

mod forecast;

use std::process::ExitCode;

use schemars::JsonSchema;
use serde::Deserialize;
use zot_sdk::{Extension, Reply, ToolContext};

use forecast::Service;

/// The arguments of the tool.
#[derive(Deserialize, JsonSchema)]
struct Where {
    /// The city, such as `Berlin` or `Springfield, Illinois`.
    city: String,
}

fn extension(service: Service) -> Extension {
    Extension::new("weather", "1.0.0")
        .command("weather", "show the weather in a city", |city, _| {
            if city.is_empty() {
                return Reply::error("which city? For example: /weather Berlin");
            }
            Reply::prompt(format!(
                "Tell me the weather in {city} in one line. Use the tool `weather`."
            ))
        })
        .tool(
            "weather",
            "The current weather in a city: temperature, sky and wind.",
            move |place: Where, ctx: ToolContext| {
                ctx.progress(format!("asking for {}", place.city));
                service.now(&place.city)
            },
        )
}

fn main() -> ExitCode {
    extension(Service::from_env()).run()
}

#[cfg(test)]
mod tests {
    use zot_sdk::testing::TestHost;

    use super::*;

    #[test]
    fn the_command_asks_the_model_and_requires_a_city() {
        let host = TestHost::start(extension(Service::from_env()));
        assert!(
            host.command("weather", "Berlin")
                .prompt
                .is_some_and(|it| it.contains("Berlin"))
        );
        assert!(host.command("weather", "").error.is_some());
        let wrong = host.tool("weather", r#"{"town": "Berlin"}"#);
        assert_eq!(wrong.text(), "invalid arguments: missing field `city`");
    }
}
