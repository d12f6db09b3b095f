//! What more threads would do: the law that fits, its parameters, and what it says.

use askama::Template;
use holdup_scaling::Scaling;

use super::super::text::{LOOK, percent, range, sentence, time};
use crate::scaling::{told, words};

/// The section.
#[derive(Template)]
#[template(path = "scaling_law.html")]
pub(super) struct Law {
    law: Option<Fitted>,
    none: String,
}

struct Fitted {
    outlook: Option<String>,
    name: &'static str,
    formula: String,
    error: String,
    parameters: Vec<(String, String, String)>,
    predictions: Vec<Row>,
}

struct Row {
    threads: u32,
    is_measured: bool,
    wall: String,
    range: String,
    efficiency: String,
    shares: String,
}

impl Law {
    pub(super) fn new(scaling: &Scaling) -> Self {
        let measured = |threads: u32| scaling.points.iter().any(|point| point.threads == threads);
        Self {
            none: told::no_law(scaling),
            law: scaling.law.as_ref().map(|law| Fitted {
                outlook: told::outlook(scaling, law, LOOK).map(|text| super::super::text::unbroken(&text)),
                name: words::law(law.kind),
                formula: sentence(&law.formula),
                error: percent(law.cross_validation_error),
                parameters: (law.parameters.iter())
                    .map(|parameter| {
                        let [value, low, high] =
                            [parameter.value, parameter.low, parameter.high].map(parameter_value);
                        (sentence(&parameter.name), value, format!("{low} to {high}"))
                    })
                    .collect(),
                predictions: (law.predictions.iter())
                    .map(|prediction| Row {
                        threads: prediction.threads,
                        is_measured: measured(prediction.threads),
                        wall: time(prediction.time),
                        range: range(prediction.low, prediction.high),
                        efficiency: percent(prediction.efficiency),
                        shares: words::shares(prediction.efficiency_low, prediction.efficiency_high, LOOK)
                            .replace(' ', "\u{a0}"),
                    })
                    .collect(),
            }),
        }
    }
}

/// A parameter with three significant digits: they range from nanoseconds to contention of a millionth.
fn parameter_value(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if (0.001..1000.0).contains(&size) => {
            let digits = 2 - size.log10().floor() as i32;
            format!("{value:.*}", digits.max(0) as usize)
        }
        _ => format!("{value:.2e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_have_three_digits() {
        let told: Vec<String> = [0.0, 0.0456, 12.345, 0.0000123, 4.2e9, -0.5].map(parameter_value).into();
        assert_eq!(told, ["0", "0.0456", "12.3", "1.23e-5", "4.20e9", "-0.500"]);
    }
}
