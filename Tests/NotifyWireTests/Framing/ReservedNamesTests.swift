import NotifyCenter
import NotifyWire
import Testing

@Suite struct ReservedNamesTests {
    @Test(arguments: [
        ("notifyd.start", ">", false), ("notifyd.start", "*.start", false), ("notifyd", "*", false),
        ("notifyd.start", "notifyd.>", true), ("notifyd.start", "notifyd.*", true), ("notifyd", "notifyd", true),
        ("notifydx.start", ">", true), ("a.b", "*.b", true), ("user.5.a", ">", true),
    ])
    func `a leading wildcard matches no name of the daemon`(_ name: String, pattern: String, visible: Bool) throws {
        let pattern = try NamePattern(pattern)
        #expect(Array(name.utf8).withUnsafeBytes { ReservedNames.isVisible($0, to: pattern) } == visible)
    }
}
