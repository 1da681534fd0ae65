//! Queries open-meteo.com, which needs no key. Uses `curl`, which is widely available and supports
//! TLS and proxies.

use std::process::{Command, Stdio};

use serde::{Deserialize, de::DeserializeOwned};

/// The URLs of the services for places and forecasts.
pub(crate) struct Service {
    places: String,
    forecast: String,
}

#[derive(Deserialize)]
struct Places {
    #[serde(default)]
    results: Vec<Place>,
}

#[derive(Deserialize)]
struct Place {
    name: String,
    #[serde(default)]
    country: String,
    latitude: f64,
    longitude: f64,
}

#[derive(Deserialize)]
struct Forecast {
    current: Current,
}

#[derive(Deserialize)]
struct Current {
    temperature_2m: f64,
    wind_speed_10m: f64,
    weather_code: u8,
}

impl Service {
    /// Returns the public service, or the one set in the environment.
    pub(crate) fn from_env() -> Self {
        let or = |name: &str, url: &str| std::env::var(name).unwrap_or_else(|_| url.to_owned());
        Self {
            places: or(
                "WEATHER_PLACES_URL",
                "https://geocoding-api.open-meteo.com/v1/search",
            ),
            forecast: or(
                "WEATHER_FORECAST_URL",
                "https://api.open-meteo.com/v1/forecast",
            ),
        }
    }

    /// Returns the weather in a city, on one line.
    pub(crate) fn now(&self, city: &str) -> Result<String, String> {
        let places: Places = get(&self.places, &[("name", city), ("count", "1")])?;
        let Some(place) = places.results.first() else {
            return Err(format!("no place called {city}"));
        };
        let (latitude, longitude) = (place.latitude.to_string(), place.longitude.to_string());
        let fields = "temperature_2m,wind_speed_10m,weather_code";
        let query = [
            ("latitude", latitude.as_str()),
            ("longitude", &longitude),
            ("current", fields),
        ];
        let Forecast { current } = get(&self.forecast, &query)?;
        Ok(format!(
            "{}, {}: {} °C, {}, wind {} km/h",
            place.name,
            place.country,
            current.temperature_2m,
            sky(current.weather_code),
            current.wind_speed_10m
        ))
    }
}

fn get<T: DeserializeOwned>(url: &str, query: &[(&str, &str)]) -> Result<T, String> {
    let mut curl = Command::new("curl");
    curl.args([
        "--silent",
        "--show-error",
        "--fail",
        "--max-time",
        "20",
        "--get",
    ]);
    for (name, value) in query {
        curl.args(["--data-urlencode", &format!("{name}={value}")]);
    }
    let asked = curl.args(["--", url]).stdin(Stdio::null()).output();
    let asked = asked.map_err(|error| format!("cannot run curl: {error}"))?;
    if !asked.status.success() {
        let why = String::from_utf8_lossy(&asked.stderr);
        return Err(format!(
            "the request to the weather service failed: {}",
            why.trim()
        ));
    }
    serde_json::from_slice(&asked.stdout)
        .map_err(|error| format!("unexpected response from the weather service: {error}"))
}

/// Describes a weather code as defined by the World Meteorological Organization (WMO).
fn sky(code: u8) -> &'static str {
    match code {
        0 => "clear sky",
        1 | 2 => "some clouds",
        3 => "overcast",
        45 | 48 => "fog",
        51..=57 => "drizzle",
        61..=67 | 80..=82 => "rain",
        71..=77 | 85 | 86 => "snow",
        95..=99 => "thunderstorm",
        _ => "unknown weather",
    }
}
