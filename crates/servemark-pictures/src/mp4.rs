//! Video as Motion JPEG in an MP4 file.
//!
//! vLLM writes MPEG-4 video with `OpenCV`, for which no small encoder exists. Here every frame is a
//! JPEG file, and the container declares it so. ffmpeg reads this format, and so do `OpenCV` and
//! every server that reads videos with either.

use crate::{PictureError, Size};

/// Returns a video file of `frames`, JPEG files of the given size, at `a_second` frames per second.
pub fn of_frames(frames: &[Vec<u8>], size: Size, a_second: u32) -> Result<Vec<u8>, PictureError> {
    let [width, height] = size.sides()?;
    let length: usize = frames.iter().map(Vec::len).sum();
    u32::try_from(length + HEADS)
        .map_err(|_| PictureError::new("the video is longer than 4 GB"))?;
    let kinds = [b"isom".as_slice(), &512_u32.to_be_bytes(), b"isomiso2mp41"].concat();
    let mut file = boxed(*b"ftyp", &kinds);
    let start = file.len() + 8;
    file.extend(boxed(*b"mdat", &frames.concat()));
    let movie = Movie { frames, start: start as u32, width, height, a_second };
    file.extend(movie.moov());
    Ok(file)
}

/// Metadata of the frames.
struct Movie<'a> {
    frames: &'a [Vec<u8>],
    /// Offset of the first frame in the file, in bytes.
    start: u32,
    width: u16,
    height: u16,
    a_second: u32,
}

impl Movie<'_> {
    /// Returns the duration in time units of one frame.
    fn duration(&self) -> u32 {
        self.frames.len() as u32
    }

    fn moov(&self) -> Vec<u8> {
        let mut header = words(&[0, 0, self.a_second, self.duration(), 0x0001_0000]);
        header.extend([1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        header.extend(words(&STRAIGHT));
        header.extend(words(&[0, 0, 0, 0, 0, 0, 2]));
        boxed(*b"moov", &[full(*b"mvhd", 0, &header), self.trak()].concat())
    }

    fn trak(&self) -> Vec<u8> {
        let mut header = words(&[0, 0, 1, 0, self.duration(), 0, 0, 0, 0]);
        header.extend(words(&STRAIGHT));
        header.extend(words(&[u32::from(self.width) << 16, u32::from(self.height) << 16]));
        boxed(*b"trak", &[full(*b"tkhd", IN_USE, &header), self.mdia()].concat())
    }

    fn mdia(&self) -> Vec<u8> {
        let header = words(&[0, 0, self.a_second, self.duration(), NO_LANGUAGE << 16]);
        let handler = [&words(&[0])[..], b"vide", &words(&[0, 0, 0]), b"video\0"].concat();
        let parts = [full(*b"mdhd", 0, &header), full(*b"hdlr", 0, &handler), self.minf()];
        boxed(*b"mdia", &parts.concat())
    }

    fn minf(&self) -> Vec<u8> {
        let here = full(*b"url ", IN_THIS_FILE, &[]);
        let references = full(*b"dref", 0, &[words(&[1]), here].concat());
        let header = full(*b"vmhd", 1, &[0; 8]);
        boxed(*b"minf", &[header, boxed(*b"dinf", &references), self.stbl()].concat())
    }

    /// Returns the sample table. All frames are consecutive and form one chunk.
    fn stbl(&self) -> Vec<u8> {
        let count = self.duration();
        let sizes = self.frames.iter().map(|frame| frame.len() as u32);
        let sizes: Vec<u32> = [0, count].into_iter().chain(sizes).collect();
        let parts = [
            full(*b"stsd", 0, &[words(&[1]), self.mp4v()].concat()),
            full(*b"stts", 0, &words(&[1, count, 1])),
            full(*b"stsc", 0, &words(&[1, 1, count, 1])),
            full(*b"stsz", 0, &words(&sizes)),
            full(*b"stco", 0, &words(&[1, self.start])),
        ];
        boxed(*b"stbl", &parts.concat())
    }

    fn mp4v(&self) -> Vec<u8> {
        let mut entry = words(&[0, 1, 0, 0, 0, 0]);
        entry.extend(self.width.to_be_bytes());
        entry.extend(self.height.to_be_bytes());
        // 72 dpi horizontally and vertically, and one frame per sample.
        entry.extend(words(&[72 << 16, 72 << 16, 0]));
        entry.extend(1_u16.to_be_bytes());
        entry.extend([0; 32]);
        entry.extend([0, 24, 0xff, 0xff]);
        entry.extend(full(*b"esds", 0, &stream()));
        boxed(*b"mp4v", &entry)
    }
}

/// Returns the stream descriptors: the codec, and packets that can be decoded independently.
fn stream() -> Vec<u8> {
    let mut decoder = vec![JPEG, VISUAL, 0, 0, 0];
    decoder.extend(words(&[0, 0]));
    let mut stream = vec![0, 1, 0];
    stream.extend(descriptor(4, &decoder));
    stream.extend(descriptor(6, &[2]));
    descriptor(3, &stream)
}

/// Returns a box: its length, its type and its content.
fn boxed(kind: [u8; 4], content: &[u8]) -> Vec<u8> {
    let length = (content.len() + 8) as u32;
    [&length.to_be_bytes()[..], &kind, content].concat()
}

/// Returns a box with version 0 and flags.
fn full(kind: [u8; 4], flags: u32, content: &[u8]) -> Vec<u8> {
    boxed(kind, &[&flags.to_be_bytes()[..], content].concat())
}

fn descriptor(tag: u8, content: &[u8]) -> Vec<u8> {
    [&[tag, content.len() as u8][..], content].concat()
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// The identity transformation matrix.
const STRAIGHT: [u32; 9] = [0x0001_0000, 0, 0, 0, 0x0001_0000, 0, 0, 0, 0x4000_0000];

/// Flags of an enabled track that is part of the presentation.
const IN_USE: u32 = 3;
const IN_THIS_FILE: u32 = 1;
/// The language code "und" (undetermined), packed.
const NO_LANGUAGE: u32 = 0x55c4;
/// Object type of JPEG in MPEG-4.
const JPEG: u8 = 0x6c;
const VISUAL: u8 = 0x11;
/// Upper bound of the bytes before the frames.
const HEADS: usize = 64;
