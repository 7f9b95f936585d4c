import Testing

/// Tests with real programs and sockets. The suites of `Tests/Integration` are nested in this suite and run serially,
/// because a machine with two cores can't run many daemons at once. Only those of `RealTimeTests` are not.
@Suite(.serialized) enum IntegrationTests {}
