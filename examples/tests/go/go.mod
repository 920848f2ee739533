module example.com/squall-tests

go 1.22
