import Metrics
import Tracing

/// The metrics and spans of a client, for the backends of swift-metrics and swift-distributed-tracing that the program
/// has bootstrapped before it made the client.
struct ClientInstruments: Sendable {
    let metrics: ClientMetrics?
    let tracing: ClientTracing?

    /// Returns nil without a backend, so that posts then have no additional cost.
    init?(
        factory: any MetricsFactory = MetricsSystem.factory, tracer: any Tracer = InstrumentationSystem.tracer
    ) {
        metrics = ClientMetrics(factory)
        tracing = ClientTracing(tracer)
        if metrics == nil, tracing == nil { return nil }
    }
}

extension ClientInstruments {
    /// A request in progress.
    struct Request {
        fileprivate let metrics: ClientMetrics?
        fileprivate let start: ContinuousClock.Instant
        fileprivate var span: (any Span)?

        /// Records the outcome of the request.
        func end(_ error: NotifyError? = nil) {
            metrics?.requestEnded(after: ContinuousClock.now - start)
            guard let span else { return }
            if let error {
                span.recordError(error)
                span.attributes["error.type"] = error.code.rawValue
                span.setStatus(SpanStatus(code: .error, message: error.message))
            }
            span.end()
        }
    }

    func begin() -> Request {
        Request(metrics: metrics, start: .now, span: nil)
    }

    /// Begins a post, and adds the context of its span to the message.
    func begin(_ message: inout NotificationClient.OutgoingMessage) -> Request {
        var request = begin()
        request.span = tracing?.beginPost(&message)
        return request
    }
}
