import { deflateSync, inflateSync } from 'node:zlib'

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const COLOURS = 256
/** The square of the distance of two colours that look alike. */
const CLOSE = 90

/**
 * Returns a PNG with at most 256 colours, for pictures of flat surfaces: a fraction of the bytes.
 */
export function smallPng(png) {
  const { width, height, pixels } = decode(png)
  const counts = new Map()
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1)
  const palette = paletteOf([...counts].sort(([, a], [, b]) => b - a).map(([colour]) => colour))
  const indexes = new Map(palette.map((colour, index) => [colour, index]))
  for (const colour of counts.keys()) {
    if (!indexes.has(colour)) indexes.set(colour, nearest(colour, palette))
  }
  const rows = Buffer.alloc(height * (width + 1))
  pixels.forEach((pixel, at) => {
    rows[at + Math.floor(at / width) + 1] = indexes.get(pixel)
  })
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 3, 0, 0, 0], 8)
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('PLTE', Buffer.from(palette.flatMap(channels))),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

/**
 * Chooses colours from those by frequency, none close to another: the shades of smooth edges would
 * leave none for thin lines.
 */
function paletteOf(colours) {
  const palette = []
  for (const colour of colours) {
    if (palette.length === COLOURS) break
    if (palette.every((each) => distance(each, colour) > CLOSE)) palette.push(colour)
  }
  return palette
}

function distance(one, other) {
  const [r, g, b] = channels(one)
  const [red, green, blue] = channels(other)
  return (r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2
}

function channels(colour) {
  return [colour >> 16, (colour >> 8) & 0xff, colour & 0xff]
}

function nearest(colour, palette) {
  let best = 0
  let least = Infinity
  palette.forEach((each, index) => {
    const far = distance(each, colour)
    if (far < least) [best, least] = [index, far]
  })
  return best
}

/** Reads what Chromium writes: 8 bits a channel, with or without alpha, not interlaced. */
function decode(png) {
  const parts = []
  let header
  for (let at = SIGNATURE.length; at < png.length; at += 12 + png.readUInt32BE(at)) {
    const data = png.subarray(at + 8, at + 8 + png.readUInt32BE(at))
    const type = png.toString('latin1', at + 4, at + 8)
    if (type === 'IHDR') header = data
    if (type === 'IDAT') parts.push(data)
  }
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)]
  const size = header[9] === 6 ? 4 : 3
  const bytes = unfiltered(inflateSync(Buffer.concat(parts)), width * size, height, size)
  const pixels = new Uint32Array(width * height)
  pixels.forEach((_, at) => {
    const from = at * size
    pixels[at] = (bytes[from] << 16) | (bytes[from + 1] << 8) | bytes[from + 2]
  })
  return { width, height, pixels }
}

/** Undoes the filter of each row (PNG specification, section 9). */
function unfiltered(data, stride, height, size) {
  const bytes = new Uint8Array(stride * height)
  for (let y = 0; y < height; y++) {
    const filter = data[y * (stride + 1)]
    const row = y * stride
    for (let x = 0; x < stride; x++) {
      const left = x < size ? 0 : bytes[row + x - size]
      const up = y === 0 ? 0 : bytes[row + x - stride]
      const corner = x < size || y === 0 ? 0 : bytes[row + x - stride - size]
      bytes[row + x] = data[y * (stride + 1) + 1 + x] + guess(filter, left, up, corner)
    }
  }
  return bytes
}

function guess(filter, left, up, corner) {
  if (filter === 0) return 0
  if (filter === 1) return left
  if (filter === 2) return up
  if (filter === 3) return (left + up) >> 1
  const [a, b, c] = [
    Math.abs(up - corner),
    Math.abs(left - corner),
    Math.abs(left + up - 2 * corner),
  ]
  if (a <= b && a <= c) return left
  return b <= c ? up : corner
}

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const whole = Buffer.alloc(body.length + 8)
  whole.writeUInt32BE(data.length, 0)
  whole.set(body, 4)
  whole.writeUInt32BE(crc(body), body.length + 4)
  return whole
}

function crc(bytes) {
  let rest = 0xffffffff
  for (const byte of bytes) {
    rest ^= byte
    for (let bit = 0; bit < 8; bit++) rest = rest & 1 ? (rest >>> 1) ^ 0xedb88320 : rest >>> 1
  }
  return (rest ^ 0xffffffff) >>> 0
}
