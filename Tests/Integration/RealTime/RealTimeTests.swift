import Testing

/// Tests in which a limit of the product passes in real time. The limit is a minute or more, so that even a slow machine
/// finishes what must happen before it. These tests mostly sleep, so they run beside each other and beside
/// `IntegrationTests`.
@Suite enum RealTimeTests {}
