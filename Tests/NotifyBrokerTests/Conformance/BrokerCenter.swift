import WireTestSupport
@testable import NotifyBroker
@_spi(Package) import NotifyCenter
import NotifyWire
import CenterConformance
import Testing

/// The broker as a center: each observation is a subscription of a separate client, and one more client posts.
///
/// The broker writes to connections in an unspecified order. This center therefore calls the observers in the order of
/// their subscriptions.
final class BrokerCenter: ConformingCenter {
    typealias Body = @Sendable (String, String?) -> Void

    private struct Observer {
        let number: Int
        let client: Client
        let body: Body
    }

    private struct State {
        let host = TestHost()
        let poster: Client
        var observers: [Observer] = []
        var lastNumber = 0

        init() { poster = host.connect() }
    }

    private let isDurable: Bool
    private let state = Lock(State())

    init(isDurable: Bool) { self.isDurable = isDurable }

    /// The number of registrations in the broker.
    var observationCount: Int { state.withLock { $0.host.registrationCount } }

    func observe(_ patterns: [NamePattern], object: String?, priority: Int32, using body: @escaping Body) -> Int {
        state.withLock { state in
            state.lastNumber += 1
            let client = state.host.connect()
            client.subscribe(
                1, patterns.map(\.string), object: object ?? "", durable: durableName(state.lastNumber))
            state.host.run()
            let answer = client.take().first
            guard case .subscribed? = answer else {
                Issue.record("not subscribed: \(String(describing: answer))")
                return 0
            }
            state.observers.append(Observer(number: state.lastNumber, client: client, body: body))
            return state.lastNumber
        }
    }

    func observeEveryName(object: String?, using body: @escaping Body) -> Int {
        observe([.everyName], object: object, priority: 0, using: body)
    }

    func end(_ handle: Int) {
        state.withLock { state in
            guard let index = state.observers.firstIndex(where: { $0.number == handle }) else { return }
            let client = state.observers.remove(at: index).client
            client.detach(1)
            state.host.run()
            if isDurable {
                client.remove(durableName(handle))
                state.host.run()
            }
            #expect(client.takeErrors().isEmpty)
            state.host.closed(client)
        }
    }

    func post(_ name: NotificationName, object: String?) {
        let calls = state.withLock { state in
            state.poster.post(name.string, object: object ?? "")
            state.host.run()
            let calls = state.observers.flatMap { observer in
                observer.client.takeMessages().map { message in
                    if isDurable { observer.client.acknowledge(1, message.sequence...message.sequence) }
                    return (observer.body, message)
                }
            }
            guard case .receipt(let receipt)? = state.poster.take().first else {
                Issue.record("no receipt")
                return calls
            }
            #expect(Int(receipt.subscribers + receipt.stored) == calls.count)
            return calls
        }
        for (body, message) in calls { body(message.name, message.object.isEmpty ? nil : message.object) }
    }

    /// An empty name makes the subscription volatile.
    private func durableName(_ number: Int) -> String { isDurable ? "subscription-\(number)" : "" }
}
