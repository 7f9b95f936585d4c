import NotifyWire
import Testing
import WireTestSupport

@Suite struct DurableSettingsTests {
    private typealias Changes = DurableSettingChanges

    @Test func `each failure has the next delay of the list, and later ones the last delay`() {
        let settings = DurableSettings(retryDelays: [1, 10, 60])
        #expect([0, 1, 2, 3, 4, .max].map { settings.retryDelay(afterFailures: $0) } == [1, 1, 10, 60, 60, 60])
    }

    @Test func `changes replace the settings that they contain`() {
        let group = DurableSettings(defaultsFor: .group)
        #expect(group.applying(Changes()) == group && Changes().isEmpty)
        let changed = group.applying(
            Changes(deadlineMicroseconds: 0, retryDelays: [5], maximumDeliveries: 0, maximumInFlight: 7))
        #expect(
            changed
                == DurableSettings(
                    sharing: .group, deadlineMicroseconds: 0, retryDelays: [5], maximumDeliveries: 0,
                    maximumInFlight: 7))
    }

    private static let span = DurableSettingChanges.maximumSpan

    @Test(arguments: [
        Changes(deadlineMicroseconds: 0), Changes(deadlineMicroseconds: 100_000),
        Changes(deadlineMicroseconds: span - 1), Changes(deadlineMicroseconds: span), Changes(retryDelays: [0, span]),
        Changes(retryDelays: Array(repeating: 1, count: 15)), Changes(retryDelays: Array(repeating: 1, count: 16)),
        Changes(maximumInFlight: 65_535), Changes(maximumInFlight: 65_536), Changes(maximumDeliveries: .max),
    ])
    func `values within their limits are accepted`(_ changes: DurableSettingChanges) throws {
        try changes.validate()
        let frame = Configure(request: 1, durableName: "d", changes: changes)
        #expect(try Configure.decode(frame.encoded).changes == changes)
    }

    @Test(arguments: [
        Changes(deadlineMicroseconds: 1), Changes(deadlineMicroseconds: 99_999),
        Changes(deadlineMicroseconds: span + 1), Changes(retryDelays: [1, span + 1]),
        Changes(retryDelays: Array(repeating: 1, count: 17)), Changes(maximumInFlight: 65_537),
    ])
    func `values beyond their limits are refused`(_ changes: DurableSettingChanges) throws {
        let error = #expect(throws: WireError.self) { try changes.validate() }
        #expect(error?.code == .invalidArgument)
        let configure = Configure(request: 1, durableName: "d", changes: changes).encoded
        #expect(#expect(throws: WireError.self) { try Configure.decode(configure) } == error)
        let subscribe = Subscribe(request: 1, subscription: 2, patterns: ["a"], durableName: "d", settings: changes)
        #expect(#expect(throws: WireError.self) { try Subscribe.decode(subscribe.encoded) } == error)
    }

    @Test func `a description without a retry delay is malformed`() {
        let entry = DurableEntry(request: 1, uid: 2, durableName: "d", patterns: ["a"])
        let bytes = DurableDescription(entry, settings: DurableSettings(retryDelays: [])).encoded
        let error = #expect(throws: WireError.self) { try DurableDescription.decode(bytes) }
        #expect(error?.code == .malformedFrame)
    }

    @Test func `a change of the sharing keeps chosen settings, and replaces defaults`() {
        let group = DurableSettings(defaultsFor: .group)
        #expect(DurableSettings(defaultsFor: .exclusive).shared(.group) == group)
        #expect(group.shared(.exclusive) == DurableSettings(defaultsFor: .exclusive))
        var chosen = group.applying(DurableSettingChanges(retryDelays: [7], maximumDeliveries: 9, maximumInFlight: 3))
        #expect(chosen.shared(.exclusive).maximumDeliveries == 9)
        #expect(chosen.shared(.exclusive).deadlineMicroseconds == 0)
        chosen.deadlineMicroseconds = 1_000_000
        chosen.sharing = .exclusive
        let shared = chosen.shared(.group)
        #expect(shared.deadlineMicroseconds == 1_000_000 && shared.retryDelays == [7] && shared.maximumInFlight == 3)
    }
}
