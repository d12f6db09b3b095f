//! Every number of what makes threads unequal, as JSON: `docs/json-schema/why.schema.json` says what each member means.

use holdup_imbalance::{Cause, NativeImbalance, SectionWhy, Why};
use holdup_model::counts::NativeMatch;
use holdup_model::{Frame, Nanos};
use serde_json::Value;

use super::{WhyScene, removed, schema, told, words};
use crate::Look;
use crate::json::{place_at_frame, printed, value};
use crate::schema::{Amount, Place};

/// Sentences are whole, and for readers of any width.
const LOOK: Look = Look::plain(Look::WIDEST);

/// The whole analysis as a value of the schema in `docs/json-schema/why.schema.json`. Names are as the program gave
/// them, except in sentences, where they are escaped.
pub fn why_json(why: &Why, scene: &WhyScene) -> Value {
    let options = &why.options;
    let told = schema::Why {
        schema: schema::WHY_SCHEMA,
        holdup: env!("CARGO_PKG_VERSION"),
        run: schema::RunFacts {
            command: &scene.command,
            wall_ns: scene.wall.map(Nanos::get),
            source: why.source,
            threads: scene
                .threads
                .iter()
                .map(|label| schema::CountedThread { thread: label.number, name: label.name.as_deref() })
                .collect(),
            warnings: &why.warnings,
        },
        method: schema::MethodFacts {
            name: words::method(options.method),
            threshold: options.threshold.into(),
            tried_thresholds: Amount::range(options.tried_thresholds),
            least_score: options.least_score.into(),
            draws: options.draws,
        },
        time_unit: why.time_unit,
        sections: why.sections.iter().map(|one| section(one, why, scene)).collect(),
    };
    value(told)
}

/// [`why_json`] as text, indented, safe to print, with a line break at its end.
pub fn why_json_text(why: &Why, scene: &WhyScene) -> String {
    printed(&why_json(why, scene))
}

fn section<'a>(section: &'a SectionWhy, why: &Why, scene: &WhyScene) -> schema::Section<'a> {
    schema::Section {
        kind: section.kind,
        name: section.end.name.as_deref(),
        place: place(&section.end.frames),
        begin: schema::Begin { name: section.begin.name.as_deref(), place: place(&section.begin.frames) },
        instances: section.instances,
        threads: &section.thread_numbers,
        most_threads: section.threads,
        imbalance: section.imbalance.into(),
        spread: section.spread.into(),
        native: section.native.as_ref().map(native),
        idle: section.idle,
        share: section.share.into(),
        cost: section.cost.into(),
        worst_instance: section.worst.as_ref().map(|worst| schema::WorstInstance {
            number: worst.number,
            share: worst.share.into(),
            time: &worst.time,
        }),
        time: &section.time,
        explained: section.explained.into(),
        unexplained: section.unexplained.into(),
        verdict: section.verdict,
        sentences: sentences(section, why, scene),
        removed: removed::steps(section, &scene.removed).map(|steps| {
            let step = |(without, idle, removed)| schema::Step { without, idle, removed };
            steps.into_iter().map(step).collect()
        }),
        depends_on_schedule: section.depends_on_schedule.as_deref(),
        dealt_units: section.dealt_units,
        causes: section.causes.iter().map(|one| cause(one, section, scene)).collect(),
    }
}

/// What is said of a section in words, as in the other faces.
fn sentences(section: &SectionWhy, why: &Why, scene: &WhyScene) -> Vec<String> {
    let told = [
        told::worst(section),
        told::native(section),
        told::schedule(section),
        told::dealt(section),
        told::verdict(section, why),
        removed::sentence(section, &scene.removed),
        told::unexplained(section, why),
    ];
    told.into_iter().flatten().collect()
}

fn native(native: &NativeImbalance) -> schema::Native {
    schema::Native {
        imbalance: native.imbalance.into(),
        spread: native.spread.into(),
        difference_ns: native.difference.get(),
        matched_by: match native.matched {
            NativeMatch::Order => schema::MatchedBy::Order,
            NativeMatch::Behaviour => schema::MatchedBy::Behaviour,
            NativeMatch::Unknown => schema::MatchedBy::Unknown,
        },
        time_ns: native.time.iter().map(|time| time.get()).collect(),
        by_instructions: native.by_instructions.map(Amount::from),
    }
}

fn cause<'a>(cause: &'a Cause, section: &SectionWhy, scene: &WhyScene) -> schema::Cause<'a> {
    schema::Cause {
        kind: cause.kind.into(),
        what: cause.kind,
        place: place(&cause.at),
        inlined: cause.at.iter().map(place_at_frame).collect(),
        to: (!cause.to.is_empty()).then(|| place(&cause.to)),
        latch: cause.latch.as_deref().map(place),
        sentence: format!("{}.", told::cause_clause(cause, scene, LOOK)),
        score: told::has_score(section).then(|| cause.score.into()),
        charge: cause.charge.into(),
        interval: cause.interval.map(Amount::range),
        stable: cause.stable.map(Amount::range),
        instances: cause.instances,
        counts: &cause.counts,
        minor: cause.minor,
        misplaced: cause.misplaced,
        listing: cause
            .listing
            .iter()
            .map(|(address, text)| schema::Instruction { address: *address, text })
            .collect(),
    }
}

/// The place of the frame that a person wrote.
fn place(frames: &[Frame]) -> Place {
    Frame::place_of(frames).map_or_else(Place::default, place_at_frame)
}
