//! Number and sizes of the images and videos of a request.

use serde::{Deserialize, Serialize};
use servemark_core::{DatasetError, ImageSize, Medium, MediumKind};
use servemark_rng::Pcg64;

use crate::ImageFormat;
use crate::image::Noise;

/// Distribution of the number and sizes of images and videos per request.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct MediaDraws {
    /// Mean number of images and videos per request.
    pub items: u32,
    /// Maximum deviation of their number from the mean, as a share of the mean from 0 to 1.
    pub spread: f64,
    /// Maximum number of images and maximum number of videos per request.
    pub limits: MediaLimits,
    /// Sizes to draw from, with their weights.
    pub buckets: Vec<MediaBucket>,
    /// File format of images; videos are always lossy.
    pub format: ImageFormat,
}

/// Maximum numbers of images and videos per request. A kind without a limit is not allowed.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[expect(clippy::exhaustive_structs, reason = "media are images or videos")]
pub struct MediaLimits {
    /// Maximum number of images.
    pub image: Option<u32>,
    /// Maximum number of videos.
    pub video: Option<u32>,
}

/// A size of images or videos, with its weight.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[expect(clippy::exhaustive_structs, reason = "vLLM's triple and its weight")]
pub struct MediaBucket {
    /// Height in pixels.
    pub height: u32,
    /// Width in pixels.
    pub width: u32,
    /// Number of frames; 1 for an image, more for a video.
    pub frames: u32,
    /// Weight of this bucket relative to the others.
    pub weight: f64,
}

impl Default for MediaDraws {
    fn default() -> Self {
        let bucket = |height, width, frames, weight| MediaBucket { height, width, frames, weight };
        Self {
            items: 1,
            spread: 0.0,
            limits: MediaLimits { image: Some(255), video: Some(1) },
            buckets: vec![
                bucket(256, 256, 1, 0.5),
                bucket(720, 1280, 1, 0.5),
                bucket(720, 1280, 16, 0.0),
            ],
            format: ImageFormat::default(),
        }
    }
}

impl MediaBucket {
    fn kind(&self) -> MediumKind {
        if self.frames > 1 { MediumKind::Video } else { MediumKind::Image }
    }

    fn size(&self) -> ImageSize {
        ImageSize { width: self.width, height: self.height }
    }
}

/// Checked settings from which each request's media are drawn.
pub(super) struct MediaSource<'a> {
    draws: &'a MediaDraws,
    least: i64,
    most: i64,
    /// Buckets with a positive weight; the weights add up to 1.
    buckets: Vec<MediaBucket>,
}

impl MediaDraws {
    /// Checks the settings and returns an error for those that vLLM rejects.
    pub(super) fn source(&self) -> Result<MediaSource<'_>, DatasetError> {
        if !(0.0..=1.0).contains(&self.spread) {
            return Err(settings(format!(
                "`workload.dataset.media.spread` must lie in 0 to 1, not {}",
                self.spread
            )));
        }
        for bucket in &self.buckets {
            self.check(bucket)?;
        }
        let buckets = likely(&self.buckets);
        if buckets.is_empty() {
            return Err(settings(
                "no bucket of `workload.dataset.media.buckets` has a weight above 0".into(),
            ));
        }
        let (least, most) = self.bounds(&buckets);
        if least > most {
            return Err(settings(format!(
                "a request has at least {least} images and videos, but \
                 `workload.dataset.media.limits` allows {most}"
            )));
        }
        Ok(MediaSource { draws: self, least, most, buckets })
    }

    fn check(&self, bucket: &MediaBucket) -> Result<(), DatasetError> {
        let MediaBucket { height, width, frames, weight } = *bucket;
        let place = format!("the bucket ({height}, {width}, {frames})");
        if height == 0 || width == 0 || frames == 0 {
            return Err(settings(format!("{place} has a height, width or number of frames of 0")));
        }
        if !(weight.is_finite() && weight >= 0.0) {
            return Err(settings(format!("{place} has the weight {weight}; give 0 or more")));
        }
        let kind = bucket.kind();
        if self.limits.of(kind).is_none() {
            let kind = kind.as_str();
            return Err(settings(format!(
                "{place} is of kind {kind}, for which `workload.dataset.media.limits` has no limit"
            )));
        }
        Ok(())
    }

    /// Returns the minimum and maximum number of items of a request.
    fn bounds(&self, buckets: &[MediaBucket]) -> (i64, i64) {
        let has = |kind| buckets.iter().any(|bucket| bucket.kind() == kind);
        let limits = [MediumKind::Image, MediumKind::Video].into_iter().filter(|kind| has(*kind));
        let limit: i64 = limits.filter_map(|kind| self.limits.of(kind)).map(i64::from).sum();
        let items = f64::from(self.items);
        let least = (items * (1.0 - self.spread)).floor() as i64;
        let most = (items * (1.0 + self.spread)).ceil() as i64;
        (least.max(0), most.min(limit))
    }
}

impl MediaLimits {
    fn of(self, kind: MediumKind) -> Option<u32> {
        match kind {
            MediumKind::Image => self.image,
            MediumKind::Video => self.video,
        }
    }
}

impl MediaSource<'_> {
    /// Draws the media of the next request. Each item's pixels are drawn before the next item.
    pub(super) fn draw(&self, random: &mut Pcg64) -> Vec<Medium> {
        let wanted = random.integers(self.least, self.most + 1).unwrap_or_default();
        let wanted = usize::try_from(wanted).unwrap_or_default();
        let mut buckets = self.buckets.clone();
        let mut drawn: Vec<Medium> = Vec::with_capacity(wanted);
        while drawn.len() < wanted && !buckets.is_empty() {
            let weights: Vec<f64> = buckets.iter().map(|bucket| bucket.weight).collect();
            let Some(place) = random.choice_weighted(&weights) else { break };
            let bucket = buckets[place];
            if self.is_full(&drawn, bucket.kind()) {
                buckets.retain(|other| other.kind() != bucket.kind());
                buckets = likely(&buckets);
            } else {
                drawn.push(self.medium(bucket, random));
            }
        }
        drawn
    }

    fn is_full(&self, drawn: &[Medium], kind: MediumKind) -> bool {
        let so_far = drawn.iter().filter(|medium| medium.kind() == kind).count();
        so_far >= self.draws.limits.of(kind).unwrap_or_default() as usize
    }

    fn medium(&self, bucket: MediaBucket, random: &mut Pcg64) -> Medium {
        let noise = Noise::draw(bucket.size(), bucket.frames, self.draws.format, random);
        match bucket.kind() {
            MediumKind::Image => Medium::image(noise),
            MediumKind::Video => Medium::video(noise),
        }
    }
}

/// Returns the buckets with a positive weight, with weights normalized to a sum of 1 as in vLLM.
fn likely(buckets: &[MediaBucket]) -> Vec<MediaBucket> {
    let heavy = || buckets.iter().filter(|bucket| bucket.weight > 0.0);
    let total: f64 = heavy().map(|bucket| bucket.weight).sum();
    heavy().map(|bucket| MediaBucket { weight: bucket.weight / total, ..*bucket }).collect()
}

fn settings(reason: String) -> DatasetError {
    DatasetError::Settings(reason)
}
