import { runConformanceTests } from '@durable-streams/server-conformance-tests'

runConformanceTests({ baseUrl: process.env.FRONT_URL, longPollTimeoutMs: 21_000 })
