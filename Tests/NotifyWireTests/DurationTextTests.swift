import NotifyWire
import Testing

@Suite struct DurationTextTests {
    @Test(arguments: [
        (Duration.seconds(10), "10 s"), (.milliseconds(2_500), "2.5 s"), (.milliseconds(250), "250 ms"),
        (.microseconds(1_999), "1 ms"), (.zero, "0 s"), (.seconds(1) + .nanoseconds(5), "1 s"),
    ])
    func `a duration is shown in seconds, or in milliseconds below one second`(duration: Duration, text: String) {
        #expect(duration.text == text)
    }
}
