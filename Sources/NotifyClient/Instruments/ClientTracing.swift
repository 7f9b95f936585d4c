import NotifyWire
import Tracing

/// The client's spans. Their context travels in headers of the message.
struct ClientTracing: Sendable {
    private let tracer: any Tracer

    /// Returns nil if the program has no tracer.
    init?(_ tracer: any Tracer) {
        if tracer is NoOpTracer { return nil }
        self.tracer = tracer
    }

    /// Begins the span of a post, and adds its context to the message.
    func beginPost(_ message: inout NotificationClient.OutgoingMessage) -> any Span {
        let span = tracer.startAnySpan("post \(message.name)", ofKind: .producer)
        span.attributes["messaging.system"] = "notifyd"
        span.attributes["messaging.operation.type"] = "send"
        span.attributes["messaging.destination.name"] = message.name
        span.attributes["messaging.message.body.size"] = message.payload.count
        addContext(span.context, to: &message)
        return span
    }

    /// Returns the message with the current context, for a post without a span of its own.
    func withContext(_ message: NotificationClient.OutgoingMessage) -> NotificationClient.OutgoingMessage {
        var message = message
        if let context = InstrumentationContext.current { addContext(context, to: &message) }
        return message
    }

    private func addContext(_ context: InstrumentationContext, to message: inout NotificationClient.OutgoingMessage) {
        var headers: [(key: String, value: String)] = []
        tracer.inject(context, into: &headers, using: HeaderInjector())
        message.addHeaders(headers)
    }

    /// Runs a handler in a span. The span's parent is the span of the post.
    func handle(
        _ message: NotificationClient.Message, _ handler: @Sendable (NotificationClient.Message) async throws -> Void
    ) async throws {
        var context = InstrumentationContext.current ?? .topLevel
        tracer.extract(message.headers, into: &context, using: HeaderExtractor())
        try await tracer.withAnySpan("process \(message.name)", context: context, ofKind: .consumer) { span in
            span.attributes["messaging.system"] = "notifyd"
            span.attributes["messaging.operation.type"] = "process"
            span.attributes["messaging.destination.name"] = message.name
            span.attributes["messaging.message.id"] = "\(message.sequence)"
            span.attributes["messaging.message.delivery"] = message.delivery
            try await handler(message)
        }
    }
}

private struct HeaderInjector: Injector {
    func inject(_ value: String, forKey key: String, into headers: inout [(key: String, value: String)]) {
        headers.append((HeaderList.tracePrefix + key, value))
    }
}

private struct HeaderExtractor: Extractor {
    func extract(key: String, from headers: NotificationClient.Headers) -> String? {
        headers[HeaderList.tracePrefix + key]
    }
}
