// A server of the Durable Streams protocol: node front.mjs PORT URL. The protocol's tests make streams and append to them,
// which objstore-svc does not. So this server keeps each message as an object, and reads by `GET /streams`.
import { randomUUID } from 'node:crypto'
import http from 'node:http'

const [port, store] = process.argv.slice(2)
const post = (path, body, headers) =>
  fetch(store + path, { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers }, body })
const registered = await post('/register', JSON.stringify({ ID: randomUUID() }))
const cookie = registered.headers.get('set-cookie').split(';')[0]

const SECURE = { 'X-Content-Type-Options': 'nosniff', 'Cross-Origin-Resource-Policy': 'same-origin' }
// Headers of the protocol, and those that caches and proxies need.
const PASSED = /^(stream-|etag$|cache-control$|x-accel-buffering$|x-content-type|cross-origin-resource)/
const isJson = (type) => type.split(';')[0].trim().toLowerCase() === 'application/json'
const read = async (request) => {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks)
}

const streams = new Map()

async function append(stream, body) {
  // An array has several messages. Other streams have bytes.
  const parsed = isJson(stream.type) ? JSON.parse(body) : [body.toString('base64')]
  for (const message of Array.isArray(parsed) ? parsed : [parsed]) {
    const Key = { Type: stream.id, Namespace: 'messages', Name: String(stream.count++).padStart(9, '0') }
    const set = await post('/set', JSON.stringify({ Key, Value: { message }, Owner: 'front' }), { cookie })
    if (!set.ok) throw Object.assign(new Error(await set.text()), { status: set.status })
  }
}

// The body of the protocol for the messages of a response.
function unwrap(stream, items) {
  const messages = items.filter(({ value }) => value).map(({ value }) => value.message)
  return isJson(stream.type)
    ? JSON.stringify(messages)
    : Buffer.concat(messages.map((message) => Buffer.from(message, 'base64')))
}

const tail = async (stream) => {
  const head = await fetch(`${store}/streams/${stream.id}`, { method: 'HEAD', headers: { cookie } })
  return { 'Stream-Next-Offset': head.headers.get('stream-next-offset') }
}

async function sendEvents(stream, upstream, response) {
  let text = ''
  for await (const chunk of upstream.body.pipeThrough(new TextDecoderStream())) {
    text += chunk
    for (let end; (end = text.indexOf('\n\n')) >= 0; text = text.slice(end + 2)) {
      let lines = text.slice(0, end).split('\n')
      if (lines[0] === 'event: data') {
        const items = JSON.parse(lines.slice(1).map((line) => line.slice(6)).join('\n'))
        const data = unwrap(stream, items).toString()
        if (data === '' || data === '[]') continue
        lines = [lines[0], ...data.split(/\r\n|\r|\n/).map((line) => `data: ${line}`)]
      }
      // The tests know only fields without the optional space.
      response.write(lines.map((line) => line.replace(/^data: /, 'data:') + '\n').join('') + '\n')
    }
  }
  response.end()
}

http.createServer(async (request, response) => {
  const url = new URL(request.url, 'http://front')
  const reply = (status, headers, body) => response.writeHead(status, { ...SECURE, ...headers }).end(body)
  const content = await read(request)
  const type = request.headers['content-type']
  const stream = streams.get(url.pathname)
  try {
    if (request.method === 'OPTIONS') return reply(204)
    // The store closes the connection while such a body is sent.
    if (content.length > 2 ** 20) return reply(413)
    if (request.method === 'PUT') {
      const made = stream ?? { id: randomUUID(), type: type ?? 'application/octet-stream', count: 0 }
      if (stream && type && stream.type !== type) return reply(409)
      if (!stream && content.length) await append(made, content)
      streams.set(url.pathname, made)
      const headers = { 'Content-Type': made.type, Location: `http://${request.headers.host}${url.pathname}` }
      return reply(stream ? 200 : 201, { ...headers, ...(await tail(made)) })
    }
    if (!stream) return reply(404)
    if (request.method === 'DELETE') {
      streams.delete(url.pathname)
      return reply(204)
    }
    if (request.method === 'POST') {
      if (!content.length || !type || isJson(type) && JSON.parse(content).length === 0) return reply(400)
      if (type.split(';')[0].toLowerCase() !== stream.type.split(';')[0].toLowerCase()) return reply(409)
      await append(stream, content)
      return reply(204, await tail(stream))
    }
    const known = request.headers['if-none-match']
    const abort = new AbortController()
    response.on('close', () => abort.abort())
    const upstream = await fetch(`${store}/streams/${stream.id}${url.search}`, {
      method: request.method, headers: { cookie, ...(known && { 'If-None-Match': known }) }, signal: abort.signal,
    })
    const passed = Object.fromEntries([...upstream.headers].filter(([name]) => PASSED.test(name)))
    const isStream = upstream.headers.get('content-type')?.startsWith('text/event-stream')
    if (isStream && !/^(text\/|application\/json)/i.test(stream.type)) return reply(400)
    if (isStream) {
      response.writeHead(200, { ...passed, 'Content-Type': 'text/event-stream' })
      return await sendEvents(stream, upstream, response)
    }
    response.writeHead(upstream.status, upstream.status === 200 ? { ...passed, 'Content-Type': stream.type } : passed)
    const hasMessages = upstream.status === 200 && request.method === 'GET'
    response.end(hasMessages ? unwrap(stream, await upstream.json()) : await upstream.text())
  } catch (error) {
    if (response.headersSent) response.destroy()
    else reply(error.status ?? 400, {}, String(error))
  }
}).listen(Number(port), '127.0.0.1')
